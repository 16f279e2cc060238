"""Writes the completion scripts from the commands.

tests/cli/shell/test_docs.py fails when they are not what this would write.
"""

from pathlib import Path

from pulsarctl.shell.completions import script
from pulsarctl.shell.reference import pages

FILES = {"bash": "pulsarctl.bash", "zsh": "_pulsarctl", "fish": "pulsarctl.fish"}


def main() -> None:
    listed = pages()
    for shell, name in FILES.items():
        (Path(__file__).parent / name).write_text(script(shell, listed), encoding="utf-8")


if __name__ == "__main__":
    main()
