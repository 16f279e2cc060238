"""`pulsarctl diff`: how a broker differs from the state in files."""

import os

import typer

from pulsarctl.errors import DIFFERENCE_FOUND
from pulsarctl.shell.arguments import PARALLEL_DEFAULT, Parallel, Prune, StateFiles
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun

app = Noun("diff", "Show how a broker differs from the state in files.")


@app.verb("diff")
def diff(call: Call, files: StateFiles, prune: Prune = False, parallel: Parallel = PARALLEL_DEFAULT) -> None:
    """Show how a broker differs from the state in files: what apply would change.

    Exits with 0 if there is no difference, and with 13 if there is one.

    Example: pulsarctl diff -f state.yaml
    """
    from pulsarctl.bulk.crew import Crew
    from pulsarctl.shell.progress import progress
    from pulsarctl.state.session import Declared
    from pulsarctl.state.showing import show_plan

    declared = Declared.load(files, os.environ)
    with Crew(call.settings, parallel) as crew, progress(call) as step:
        plan = declared.plan(crew, step, prune=prune)
    show_plan(call, plan)
    if not plan.is_empty:
        raise typer.Exit(DIFFERENCE_FOUND)
