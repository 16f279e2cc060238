"""The words that an option takes, as its declaration says them to completion."""

from collections.abc import Callable


def choice(*words: str) -> Callable[[], list[str]]:
    """What completes an option that takes one of a few words: `typer.Option(..., autocompletion=choice("a", "b"))`."""
    return lambda: list(words)
