"""`pulsarctl version`: the versions of this tool, of Python, and of the broker if it is reachable."""

import sys

from pulsarctl import __version__
from pulsarctl.errors import CliError
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun

app = Noun("version", "Show the versions of pulsarctl, Python, and the broker.")


@app.verb("version")
def version(call: Call) -> None:
    """Show the versions of pulsarctl, Python, and the broker.

    Example: pulsarctl version
    """
    versions = {"pulsarctl": __version__, "python": sys.version.split()[0]}
    try:
        versions["broker"] = call.admin.brokers.version()
    except CliError as error:
        call.notice(f"cannot get the version of the broker: {error.message}")
    call.show(versions, as_map=True)
