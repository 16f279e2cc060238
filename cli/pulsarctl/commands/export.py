"""`pulsarctl export`: what a broker has, as a file for `apply`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pulsarctl.output import render
from pulsarctl.output.render import Output
from pulsarctl.shell.arguments import PARALLEL_DEFAULT, Parallel
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun

if TYPE_CHECKING:
    from pulsarctl.state.live import Found
    from pulsarctl.state.scope import Scope

app = Noun("export", "Write tenants, namespaces, topics, and their settings as a file for apply.")


@app.verb("export")
def export(
    call: Call,
    names: Annotated[
        list[str] | None,
        typer.Option(
            "-n", "--namespace", metavar="NAME", help="TENANT/NAMESPACE or TENANT to export; may be repeated."
        ),
    ] = None,
    parallel: Parallel = PARALLEL_DEFAULT,
    editor_schema: Annotated[
        bool, typer.Option("--editor-schema", help="Print the JSON Schema of the file for editors, and nothing else.")
    ] = False,
) -> None:
    """Write tenants, namespaces, topics, and their settings as a file for apply.

    The file is YAML, or JSON with -o json. It contains the settings that are set, and no messages. The topics and
    namespaces of Pulsar itself, and the broker's own cluster, are left out.

    Example: pulsarctl export -n shop/orders > state.yaml
    """
    from pulsarctl.bulk.crew import Crew
    from pulsarctl.shell.progress import progress
    from pulsarctl.state import documents, editors, session
    from pulsarctl.state.scope import EVERYTHING, Scope

    if editor_schema:
        render.show(editors.json_schema(), Output.JSON)
        return
    scope = Scope.of(names or [EVERYTHING])
    with Crew(call.settings, parallel) as crew, progress(call) as step:
        exported = session.export(crew, scope, step)
    document = _document(call, exported, scope)
    if call.output in (Output.JSON, Output.JSONL):
        call.show(document)
        return
    for piece in documents.written(document):
        render.text(piece.rstrip("\n"))


def _document(call: Call, exported: "Found", scope: "Scope") -> dict[str, Any]:
    """Tells everything that the document leaves out."""
    from pulsarctl.state import exporting

    for name, keys in exported.uncovered.items():
        for key in keys:
            call.notice(f"notice: the file leaves out {key} of {name}")
    return exporting.document(exported, scope, lambda omission: call.notice(f"warning: the file leaves out {omission}"))
