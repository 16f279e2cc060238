"""`pulsarctl console`: the web console in front of a cluster."""

from typing import Annotated

import typer

from pulsarctl.errors import CliError, UsageProblem
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.serving import Announcement, check_print_urls, start_logging

PORT = 8090

app = Noun("console", "Serve the web console in front of a cluster.")


@app.verb("console")
def console(
    call: Call,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port of the web pages; 0 is any free port.")
    ] = PORT,
    console_actions: Annotated[
        bool, typer.Option("--console-actions", help="Let the pages change things. Without it, they are read-only.")
    ] = False,
    print_urls: Annotated[
        str | None,
        typer.Option("--print-urls", metavar="json", help="Print the URL on stdout, as JSON, when it answers."),
    ] = None,
) -> None:
    """Serve the web console in front of a cluster until Ctrl-C.

    The pages are those that the bundled broker serves itself. They use the address and the credentials of the context,
    so the server listens on loopback addresses only, and its pages need the key in the address that it prints.

    Examples:
      pulsarctl --context production console
      pulsarctl --admin-url http://pulsar.example.com:8080 console --console-actions
    """
    from broker_core.console.page import PageFrame
    from broker_core.server.ports import LOOPBACK, PortInUse, bind
    from pulsarctl.console.process import run

    check_print_urls(print_urls)
    if call.settings.dry_run:
        raise UsageProblem("cannot use --dry-run with console", hint="without --console-actions, it changes nothing")
    start_logging("text", "warning")
    frame = PageFrame(f"Admin API at {call.settings.web_url}.", console_actions)
    announcement = Announcement("web console at {url}", None, print_urls, ())
    try:
        run(call.settings, frame, bind(LOOPBACK, port, "--port"), lambda url: announcement.say({"url": url}))
    except PortInUse as error:
        raise CliError(str(error)) from error
