"""The page that asks for credentials. Pure."""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping

from broker_core.console.markup import Html, tag
from broker_core.console.page import Page, PageFrame, page
from broker_core.console.paths import SIGN_IN


def sign_in(frame: PageFrame, methods: Collection[str], problem: str = "", status: int = 401) -> Page:
    """`methods`: `token`, `basic`, or both; none if credentials cannot be sent from here, which `problem` explains."""
    alert = tag("p", problem, role="alert", class_="problem") if problem else None
    forms = [_FORMS[method] for method in sorted(methods) if method in _FORMS]
    return page(frame, "Sign in", (), alert, forms, status=status)


def authorization(form: Mapping[str, str]) -> str:
    """The header with the credentials of a form; empty if there are none."""
    if token := form.get("token", "").strip():
        return f"Bearer {token}" if token.isascii() and token.isprintable() else ""
    user, password = form.get("user", ""), form.get("password", "")
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}" if user else ""


def _field(name: str, label: str, kind: str, autocomplete: str) -> Html:
    entry = tag("input", id=name, name=name, type=kind, required=True, autocomplete=autocomplete)
    return tag("p", tag("label", label, for_=name), entry)


def _form(*fields: Html) -> Html:
    button = tag("button", "Sign in", type="submit")
    return tag("form", fields, button, action=SIGN_IN, method="post", class_="sign-in")


_FORMS = {
    "basic": _form(
        _field("user", "User", "text", "username"), _field("password", "Password", "password", "current-password")
    ),
    "token": _form(_field("token", "Token", "password", "off")),
}
