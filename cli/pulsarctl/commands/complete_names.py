"""`pulsarctl complete-names`: the names that complete a word, for the completion scripts.

Persistent topics have their short form, because a colon ends a word in bash.
"""

from typing import Annotated

import typer

from pulsarctl.errors import CliError
from pulsarctl.output import render
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.verbs.candidates import candidates

app = Noun("complete-names", "Print the names that complete a word.")


@app.verb("complete-names")
def complete_names(
    call: Call,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="Kind of name: TENANT, NAMESPACE, or TOPIC.")],
    prefix: Annotated[str, typer.Argument(metavar="PREFIX", help="Text typed so far.")] = "",
) -> None:
    """Print the names that complete a word, one per line, and nothing if the broker does not answer."""
    try:
        for name in candidates(call, kind, prefix):
            render.line(name)
    except CliError:
        return  # a shell must not show errors after Tab
