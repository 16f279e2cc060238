"""The words that an option takes, as its declaration says them to completion."""

from collections.abc import Callable


def choice(*words: str) -> Callable[[], list[str]]:
    """The completion of an option with a few words: `typer.Option(..., autocompletion=choice("a", "b"))`."""
    return lambda: list(words)
