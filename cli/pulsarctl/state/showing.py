"""A plan, and what became of it, on stdout and stderr."""

from pulsarctl.errors import CliError, Conflict, PartialFailure
from pulsarctl.output import render
from pulsarctl.shell.call import Call
from pulsarctl.state import plan_text
from pulsarctl.state.applying import Applied
from pulsarctl.state.plan import Plan
from pulsarctl.state.plan_text import count


def show_plan(call: Call, plan: Plan, equal: str = plan_text.EQUAL) -> None:
    """Shows the plan as text, JSON, or YAML. `equal`: what an empty one means."""
    if render.is_structured(call.output):
        render.show(plan_text.document(plan), call.output)
        return
    for sign, text in plan_text.lines(plan, equal):
        render.marked(sign, text)


def impossible(plan: Plan) -> Conflict:
    """The error of a plan with refusals, of which nothing is applied."""
    several = f" (and {len(plan.refusals) - 1} more)" if len(plan.refusals) > 1 else ""
    return Conflict(f"nothing was changed: {plan.refusals[0]}{several}", hint="correct the files, and apply again")


def conclude(call: Call, applied: Applied) -> None:
    """Reports each failure. Raises `PartialFailure`, or the error itself if there was only one change."""
    if not applied.failures:
        call.notice(f"applied {count(applied.done, 'change')}")
        return
    if not applied.done and len(applied.failures) == 1 and not applied.skipped:
        raise _alone(applied.failures[0].error, str(applied.failures[0]))
    for failure in applied.failures:
        call.notice(f"error: {failure}", quiet=False)
    for change in applied.skipped:
        call.notice(f"skipped: {change.kind} {change.name} needs what failed", quiet=False)
    failed = len({(failure.change.kind, failure.change.name) for failure in applied.failures})
    skipped = f", {len(applied.skipped):,} skipped" if applied.skipped else ""
    raise PartialFailure(
        f"{count(failed, 'change')} failed{skipped}, and {applied.done:,} succeeded",
        hint="remove the cause, and run the same command again: it applies only what is left",
    )


def _alone(error: CliError, message: str) -> CliError:
    return type(error)(message, hint=error.hint, status=error.status, reason=error.reason, request=error.request)
