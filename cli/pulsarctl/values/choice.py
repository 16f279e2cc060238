"""Options that take one of a few words."""

from collections.abc import Callable, Iterable

from pulsarctl.errors import UsageProblem


def choice(*words: str) -> Callable[[], list[str]]:
    """The completion of an option with a few words: `typer.Option(..., autocompletion=choice("a", "b"))`."""
    return lambda: list(words)


def one_of(value: str, words: Iterable[str], noun: str) -> str:
    """The word that `value` is, in any case, as pulsar-admin takes it. Raises `UsageProblem`."""
    known = tuple(words)
    for word in known:
        if word.lower() == value.lower():
            return word
    raise UsageProblem(f"unknown {noun} '{value}'", hint=f"use one of {', '.join(known)}")
