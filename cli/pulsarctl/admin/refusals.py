"""An answer with an error -> a `CliError`.

The status selects the class. The message is the broker's `reason`, then the request line and the source of its URL, to
show which broker refused.
"""

import html
import http.client
import re
from urllib.parse import urlsplit

from pulsarctl.errors import CliError, Conflict, NotAuthorized, NotFound, TimedOut
from pulsarctl.values.json_text import parse_json

ERROR_OF_STATUS = {
    401: NotAuthorized,
    403: NotAuthorized,
    404: NotFound,
    409: Conflict,
    412: Conflict,
    504: TimedOut,
}

_NO_RESOURCE = re.compile(r"(HTTP 404 )?Not Found\Z|this broker has no resource at ")


def refusal(status: int, text: str, request: str, origin: str, *, authenticates: bool) -> CliError:
    """`request`: method and URL. `origin`: where the URL comes from. `authenticates`: whether credentials were sent."""
    reason = _reason(text) or http.client.responses.get(status, f"HTTP {status}")
    return ERROR_OF_STATUS.get(status, CliError)(
        f"{reason} ({status} for {request}, URL from {origin})",
        hint=_hint(status, reason, request, authenticates=authenticates),
        status=status,
        reason=reason,
        request=request,
    )


def is_unknown_path(problem: CliError) -> bool:
    """Whether the broker has no such request. If it has, and a topic is missing, the reason names the topic."""
    return problem.status == 404 and _NO_RESOURCE.match(problem.reason or "") is not None


def tenant_of(problem: CliError, path: str) -> str | None:
    """The tenant in the path of a request whose namespace is missing, as it is there; None for other errors."""
    parts = path.partition("?")[0].split("/")
    is_missing = isinstance(problem, NotFound) and (problem.reason or "").startswith("Namespace")
    has_namespace = len(parts) > 5 and parts[3] in ("namespaces", "persistent", "non-persistent")
    return parts[4] if is_missing and has_namespace else None


def no_tenant(tenant: str, problem: CliError) -> NotFound:
    return NotFound(
        f"there is no tenant '{tenant}': {problem.message}",
        hint="list what exists: pulsarctl tenants list",
        status=problem.status,
        reason=problem.reason,
        request=problem.request,
    )


def _reason(text: str) -> str:
    """The reason in an error's body: the broker's `reason` without a stack trace, its web server's `message`, the title
    of a page, or the first line.
    """
    try:
        document = parse_json(text)
        reason = str(document["reason"] if "reason" in document else document["message"])
    except (ValueError, KeyError, TypeError):
        title = re.search(r"<title>Error \d+ (.*?)</title>", text, re.DOTALL)
        return html.unescape(title.group(1)) if title else text.strip().split("\n", 1)[0][:300]
    unexpected = re.search(r"\AMessage: (.*?)\n\nStacktrace:", reason.partition("\n\n")[2], re.DOTALL)
    return unexpected.group(1) if unexpected else reason


def _hint(status: int, reason: str, request: str, *, authenticates: bool) -> str | None:
    """The next step, if the reason does not name it already."""
    if reason.startswith("Delete forbidden topic is replicated"):
        return "delete it in this cluster only with --force"
    if status == 409 and "/migrate?" in request and "already scalable" not in reason:
        return "--force migrates it in spite of these clients, and their producers fail then"
    if status == 404:
        return _hint_of_missing(reason, urlsplit(request.partition(" ")[2]).path)
    if status != 401:
        return None
    if not authenticates:
        return "authenticate with --token-file FILE or PULSARCTL_TOKEN"
    return "check the credentials; 'pulsarctl context show --resolved' shows their source"


def _listing_of_scalable(reason: str, parts: list[str]) -> str:
    """The verb that lists the segments, the regular topics for a migration, or the scalable topics."""
    if "Segment" in reason:
        return f"scalable-topics describe {'/'.join(parts[4:7])}"
    noun = "topics" if parts[7:] == ["migrate"] else "scalable-topics"
    return f"{noun} list {parts[4]}/{parts[5]}"


def _hint_of_missing(reason: str, path: str) -> str | None:
    """The command that lists the existing names."""
    parts = path.split("/")
    noun = parts[3] if len(parts) > 3 else ""
    if noun == "tenants" or "Tenant" in reason:
        return "list what exists: pulsarctl tenants list"
    if noun == "clusters":
        return "list what exists: pulsarctl clusters list"
    if noun == "namespaces" or "Namespace" in reason or "Policies" in reason:
        return f"list what exists: pulsarctl namespaces list {parts[4]}"
    if noun == "scalable" and len(parts) > 6:
        return f"list what exists: pulsarctl {_listing_of_scalable(reason, parts)}"
    if noun in ("persistent", "non-persistent") and len(parts) > 6:
        if "ubscription" in reason:
            return f"list what exists: pulsarctl topics subscriptions {noun}://{'/'.join(parts[4:7])}"
        return f"list what exists: pulsarctl topics list {parts[4]}/{parts[5]}"
    return None
