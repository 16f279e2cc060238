"""`pulsarctl completion`: print the completion script of a shell."""

from typing import Annotated

import typer

from pulsarctl.errors import UsageProblem
from pulsarctl.output import render
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun

app = Noun("completion", "Print the completion script of a shell.")

SHELLS = ("bash", "zsh", "fish")


@app.verb("completion")
def completion(
    call: Call, shell: Annotated[str, typer.Argument(metavar="SHELL", help="Name of the shell: bash, zsh, or fish.")]
) -> None:
    """Print the completion script of a shell.

    Example: source <(pulsarctl completion bash)
    """
    if shell not in SHELLS:
        raise UsageProblem(f"unknown shell '{shell}'", hint="use one of " + ", ".join(SHELLS))
    from pulsarctl.shell.completions import script
    from pulsarctl.shell.reference import pages

    render.text(script(shell, pages()).rstrip("\n"))
