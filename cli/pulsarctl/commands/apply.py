"""`pulsarctl apply`: make a broker have the state in files."""

import os

from pulsarctl.shell.arguments import PARALLEL_DEFAULT, Parallel, Prune, StateFiles, Yes
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun

app = Noun("apply", "Apply the state in files to a broker.")


@app.verb("apply")
def apply(
    call: Call, files: StateFiles, prune: Prune = False, yes: Yes = False, parallel: Parallel = PARALLEL_DEFAULT
) -> None:
    """Apply the state in files to a broker. Only what differs is changed.

    The plan is printed first; with --dry-run, nothing else happens. --prune deletes topics with their messages, so it
    asks for confirmation, and requires --yes without a terminal. If some changes fail, the others are made, the exit
    code is 10, and the same command finishes the work.

    Example: pulsarctl apply -f state.yaml
    """
    from pulsarctl.bulk.crew import Crew
    from pulsarctl.shell.progress import progress
    from pulsarctl.state import applying, plan_text, showing
    from pulsarctl.state.session import Declared

    declared = Declared.load(files, os.environ)
    with Crew(call.settings, parallel) as crew, progress(call) as step:
        plan = declared.plan(crew, step, prune=prune)
    showing.show_plan(call, plan)
    if plan.refusals:
        raise showing.impossible(plan)
    if call.settings.dry_run or plan.is_empty:
        return
    removed = plan_text.removed(plan)
    if removed:
        call.confirm(f"Delete what is marked with - ({plan_text.count(removed, 'item')})?", yes=yes, several=True)
    with Crew(call.settings, parallel) as crew, progress(call) as step:
        applied = applying.apply(plan, crew, lambda done, total: step("changes", done, total))
    showing.conclude(call, applied)
