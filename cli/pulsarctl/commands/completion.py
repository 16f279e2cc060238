"""`pulsarctl completion`: the completion script of a shell, on stdout."""

from typing import Annotated

import typer

from pulsarctl.errors import UsageProblem
from pulsarctl.output import render
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun

app = Noun("completion", "Print the completion script of a shell.")

SHELLS = ("bash", "zsh", "fish")


@app.verb("completion")
def completion(call: Call, shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")]) -> None:
    """Print the script that completes commands and options.

    Example: source <(pulsarctl completion bash)
    """
    if shell not in SHELLS:
        raise UsageProblem(f"no completion for '{shell}'", hint="one of " + ", ".join(SHELLS))
    from pulsarctl.shell.completions import script
    from pulsarctl.shell.reference import pages

    render.line(script(shell, pages()).rstrip("\n"))
