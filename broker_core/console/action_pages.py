"""The pages of actions: links to them, the form that asks for confirmation, and what follows.

An action is shown, and accepted, only if the host switched actions on. It is one request of the admin API, with the
rights of the user.
"""

from __future__ import annotations

from broker_core.console.actions import ACTIONS, BY_NAME, NAMES, Action, Field, Target
from broker_core.console.admin_api import AdminApi, Refused, TopicName
from broker_core.console.markup import Html, address, link, tag
from broker_core.console.page import (
    Page,
    PageFrame,
    Request,
    facts,
    name_of,
    namespace_crumbs,
    page,
    see_other,
    subscription_crumbs,
    topic_crumbs,
)
from broker_core.console.paths import ACTION, HOME


def offered(frame: PageFrame, kind: str, **target: str) -> Html | None:
    """The actions of a page."""
    if not frame.actions:
        return None
    links = [
        tag("li", link(address(ACTION, do=action.name, **target), f"{action.label}…"))
        for action in ACTIONS
        if kind in action.on
    ]
    return tag("section", tag("h2", "Actions"), tag("ul", links, class_="actions"))


def done(request: Request) -> Html | None:
    """The message of a page after an action."""
    action = BY_NAME.get(request.query.get("done", ""))
    return None if action is None else tag("p", f"{action.label}: done.", role="status", class_="done")


def _found(frame: PageFrame, name: str) -> Action:
    if not frame.actions:
        raise Refused(403, "the console is read-only: start it with --console-actions to change something here")
    if name not in BY_NAME:
        raise Refused(404, f"the console has no action {name[:60]!r}")
    return BY_NAME[name]


async def confirm(frame: PageFrame, request: Request, api: AdminApi) -> Page:
    return _asked(frame, _found(frame, request.query.get("do", "")), Target.of(request.query), "", "")


async def perform(frame: PageFrame, request: Request, api: AdminApi) -> Page:
    """Does it and goes back to the page of its target, or asks again and says what is wrong."""
    action, target = _found(frame, request.form.get("do", "")), Target.of(request.form)
    value = request.form.get("value", "")
    try:
        if action.types_name and request.form.get("typed", "") != target.name:
            raise Refused(400, "the name that you typed is another one")
        sent = action.request(value)
        await api.ask(sent.method, f"{target.path}{sent.end}", body=sent.body)
    except Refused as error:
        return _asked(frame, action, target, value, str(error), error.status)
    where = target.above if action.removes else target.page
    return see_other(f"{where}{'&' if '?' in where else '?'}done={action.name}")


def _asked(frame: PageFrame, action: Action, target: Target, value: str, problem: str, status: int = 200) -> Page:
    names = [(name.capitalize(), getattr(target, name)) for name in NAMES if getattr(target, name)]
    hidden = [tag("input", type="hidden", name=name, value=getattr(target, name)) for name in NAMES]
    form = tag(
        "form",
        tag("input", type="hidden", name="do", value=action.name),
        hidden,
        _input(action.field, value) if action.field else None,
        _typed(target) if action.types_name else None,
        tag("button", action.label, type="submit", class_="danger"),
        " ",
        link(target.page, "Cancel"),
        action=ACTION,
        method="post",
        class_="confirm",
    )
    shown = facts((name, tag("code", name_of(text))) for name, text in names)
    alert = tag("p", f"Cannot do that: {problem}", role="alert", class_="problem") if problem else None
    return page(frame, action.label, _crumbs(target), alert, tag("p", action.says), shown, form, status=status)


def _crumbs(target: Target) -> list[tuple[str, str]]:
    if target.transaction:
        return [("Tenants", HOME), ("Transactions", target.page)]
    if not target.topic:
        return [*namespace_crumbs(target.namespace), (target.namespace, target.page)]
    topic = TopicName.parse(target.topic)
    if not target.subscription:
        return [*topic_crumbs(topic), (topic.local, target.page)]
    return [*subscription_crumbs(topic), (target.subscription, target.page)]


def _input(field: Field, value: str) -> Html:
    hint = tag("small", field.hint, id="hint") if field.hint else None
    entry = tag(
        "input",
        id="value",
        name="value",
        type=field.kind,
        value=value or field.default,
        required=True,
        min="1" if field.kind == "number" else None,
        aria_describedby="hint" if field.hint else None,
        autocomplete="off",
    )
    return tag("p", tag("label", field.label, for_="value"), entry, hint)


def _typed(target: Target) -> Html:
    entry = tag("input", id="typed", name="typed", type="text", required=True, autocomplete="off", spellcheck="false")
    return tag("p", tag("label", "To confirm, type ", tag("code", name_of(target.name)), for_="typed"), entry)
