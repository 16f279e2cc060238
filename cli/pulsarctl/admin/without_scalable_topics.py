"""Answers of a broker that has no scalable topics, or only some of the requests about them."""

from pulsarctl.admin.refusals import is_unknown_path
from pulsarctl.errors import CliError, NotFound

ROOT = "/admin/v2/scalable/"
SEGMENTS = "/admin/v2/segments/"
NAMESPACE_POLICY = "/scalableTopicAutoScalePolicy"
_NO_BUNDLE = "Invalid bundle range"  # Pulsar 4 takes the last part of the path for a bundle


def is_unknown(problem: CliError, path: str) -> bool:
    """Whether the broker does not know this path of scalable topics. A missing topic has a reason of its own."""
    reason = problem.reason or ""
    if path.endswith(NAMESPACE_POLICY) and (problem.status == 405 or reason.startswith(_NO_BUNDLE)):
        return True
    is_about_them = path.startswith((ROOT, SEGMENTS)) or path.endswith(NAMESPACE_POLICY)
    return is_about_them and is_unknown_path(problem)


def list_path(path: str) -> str:
    """The path that lists the scalable topics of the same namespace."""
    return ROOT + "/".join(path.split("/")[4:6])


def no_scalable_topics(problem: CliError) -> NotFound:
    return _not_found("this broker has no scalable topics (Pulsar 5.0 and later)", problem)


def no_such_request(problem: CliError, path: str) -> NotFound:
    """A milestone of Pulsar 5.0 has scalable topics, but not all that 5.0.0 has, and no Pulsar tells about segments."""
    if path.startswith(SEGMENTS):
        return _not_found("only pulsarctl's broker tells which ledgers and messages a segment has", problem)
    return _not_found("this broker has scalable topics, but not this request (Pulsar 5.0.0 and later)", problem)


def _not_found(message: str, problem: CliError) -> NotFound:
    return NotFound(message, status=problem.status, reason=problem.reason, request=problem.request)
