"""The frame of every page: head, navigation, content, and the headers that it is served with. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from broker_core.console.admin_api import TopicName
from broker_core.console.markup import Child, Html, address, link, markup, tag
from broker_core.console.paths import HOME, ICON, NAMESPACES, SCRIPT, SIGN_OUT, STYLE, TOPIC, TOPICS

HTML_TYPE = "text/html; charset=utf-8"

# Everything comes from this server. `same-origin`: a form must send its Origin, which no referrer at all would hide.
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    ("Content-Security-Policy", CONTENT_POLICY),
    ("Referrer-Policy", "same-origin"),
    ("X-Content-Type-Options", "nosniff"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cache-Control", "no-store"),
)
Crumb = tuple[str, str]  # its text and its address


@dataclass(frozen=True, slots=True)
class Request:
    """A request that a host passes on. `form` has the fields of a POST. The first of equal names counts."""

    method: str
    path: str
    query: Mapping[str, str]
    form: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PageFrame:
    """`cluster`: what stands next to the name. `actions`: whether pages offer actions. `user`: "" without one."""

    cluster: str = ""
    actions: bool = False
    user: str = ""
    signs_out: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A response of the console."""

    status: int
    body: bytes = b""
    content_type: str = HTML_TYPE
    headers: Sequence[tuple[str, str]] = HEADERS


def see_other(where: str) -> Page:
    return Page(303, headers=(*HEADERS, ("Location", where)))


def page(frame: PageFrame, title: str, crumbs: Iterable[Crumb], *content: Child, status: int = 200) -> Page:
    """`title` is the heading, too."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} - Pulsar console"),
        tag("link", rel="icon", href=ICON, type="image/svg+xml"),
        tag("link", rel="stylesheet", href=STYLE),
        tag("script", src=SCRIPT, defer=True),
    )
    main = tag("main", tag("h1", name_of(title)), *content, id="content", tabindex="-1")
    skip = link("#content", "Skip to content", class_="skip")
    body = tag("body", skip, _header(frame, crumbs, title), main, _footer(frame))
    text = markup(Html("<!doctype html>\n"), tag("html", head, body, lang="en"))
    return Page(status, text.encode("utf-8", "backslashreplace"))


def _header(frame: PageFrame, crumbs: Iterable[Crumb], title: str) -> Html:
    trail = [tag("li", link(where, name_of(name))) for name, where in crumbs]
    here = tag("li", tag("span", name_of(title), aria_current="page"))
    find = tag(
        "form",
        tag("label", "Go to topic", for_="go"),
        tag("input", id="go", name="name", type="search", placeholder="tenant/namespace/topic", autocomplete="off"),
        tag("button", "Go", type="submit"),
        action=TOPIC,
        method="get",
        role="search",
    )
    navigation = tag("nav", tag("ol", trail, here if trail else None), aria_label="Breadcrumb")
    return tag("header", tag("p", link(HOME, "Pulsar console"), class_="brand"), navigation, find)


def _footer(frame: PageFrame) -> Html:
    mode = "Actions are switched on." if frame.actions else "Read-only."
    user = tag("span", f"Signed in as {frame.user}.") if frame.user else None
    leave = tag("form", tag("button", "Sign out", type="submit"), action=SIGN_OUT, method="post")
    return tag("footer", tag("p", frame.cluster, " ", mode, " ", user), leave if frame.signs_out else None)


def name_of(text: str) -> Html:
    """A name that a client chose: its direction of writing must not reorder what is around it."""
    return tag("bdi", text)


def namespace_crumbs(namespace: str) -> list[Crumb]:
    tenant = namespace.partition("/")[0]
    return [("Tenants", HOME), (tenant, address(NAMESPACES, tenant=tenant))]


def topic_crumbs(topic: TopicName) -> list[Crumb]:
    return [*namespace_crumbs(topic.namespace), (topic.namespace, address(TOPICS, namespace=topic.namespace))]


def subscription_crumbs(topic: TopicName) -> list[Crumb]:
    return [*topic_crumbs(topic), (topic.local, address(TOPIC, name=topic))]


def problem(frame: PageFrame, status: int, reason: str) -> Page:
    titles = {401: "Not signed in", 403: "Not allowed", 404: "Not found"}
    alert = tag("p", reason, role="alert", class_="problem")
    return page(frame, titles.get(status, "That did not work"), [("Tenants", HOME)], alert, status=status)


def facts(pairs: Iterable[tuple[str, Child]]) -> Html:
    return tag("dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs], class_="facts")
