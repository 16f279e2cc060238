"""Signing in to the console: what a user gets, and when it ends."""

import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_core.admin.all_routes import served_routes
from broker_core.admin.call import Answer, Call
from broker_core.admin.console_pages import accept_sign_in
from broker_core.admin.guard import is_console
from broker_core.config.console import ConsoleConfig
from broker_core.security.sessions import COOKIE, Sessions
from broker_core.testing import EmbeddedBroker
from tests.support.clocks import StillClock
from tests.support.condition import wait_until
from tests.support.console_browser import Browser, Shown
from tests.support.secured import NAMESPACE, PLAIN, ask, config, prepare, token


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("audit") / "audit.jsonl"


@pytest.fixture(scope="module")
def broker(audit: Path) -> Iterator[EmbeddedBroker]:
    made = config(audit_file=str(audit)).replace(console=ConsoleConfig(actions=True))
    with EmbeddedBroker(config=made) as found:
        prepare(found)
        assert ask(found, "PUT", f"persistent/{NAMESPACE}/plain/subscription/s", {}).status == 204
        yield found


def browser_of(broker: EmbeddedBroker) -> Browser:
    return Browser(int(broker.http_url.rpartition(":")[2]))


def signed_in(broker: EmbeddedBroker, role: str) -> Browser:
    browser = browser_of(broker)
    assert sign_in(browser, token(role)).status == 303
    return browser


def sign_in(browser: Browser, credentials: str) -> Shown:
    return browser.post("/console/sign-in", token=credentials)


def test_a_user_without_credentials_is_asked_for_them_on_every_page(broker: EmbeddedBroker) -> None:
    browser = browser_of(broker)
    asked = 0
    for route in served_routes().listed:
        if not is_console(route.path) or route.path.endswith((".css", ".js", ".svg", "sign-out")):
            continue
        shown = browser.get(route.path) if route.method == "GET" else browser.post(route.path, do="skip")
        assert shown.status == 401, route.path
        assert NAMESPACE not in shown.text
        asked += 'name="token"' in shown.text
    assert asked > 8


def test_a_token_in_the_form_gives_a_cookie_that_no_script_and_no_other_site_can_use(broker: EmbeddedBroker) -> None:
    browser = browser_of(broker)
    shown = sign_in(browser, token("admin"))
    attributes = shown.headers["Set-Cookie"].split("; ")[1:]
    assert attributes == ["Path=/", "HttpOnly", "SameSite=Strict"]
    assert "Signed in as admin" in browser.get("/").outline.text


@pytest.mark.parametrize(
    ("headers", "asks"),
    [
        ({"X-Forwarded-For": "192.0.2.7"}, False),
        ({"Via": "1.1 proxy"}, False),
        ({"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Proto": "http"}, False),
        ({"X-Forwarded-Proto": "http, https"}, False),
        ({"Forwarded": "for=192.0.2.7;proto=http"}, False),
        ({"Forwarded": 'for=192.0.2.7;proto="https"'}, True),
        ({"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Proto": "https"}, True),
    ],
)
def test_a_proxy_on_this_machine_must_say_that_its_client_came_over_tls(
    broker: EmbeddedBroker, headers: dict[str, str], asks: bool
) -> None:
    request = urllib.request.Request(f"{broker.http_url}/console/sign-in", headers=headers)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=30)
    with refused.value as answer:
        assert ('name="token"' in answer.read().decode()) == asks


@pytest.mark.parametrize("credentials", ["", "x", "x\r\ny", "a" * 3000, token("admin")[:-2]])
def test_wrong_credentials_give_no_cookie(broker: EmbeddedBroker, credentials: str) -> None:
    shown = sign_in(browser_of(broker), credentials)
    assert shown.status == 401
    assert "does not accept" in shown.outline.text
    assert "Set-Cookie" not in shown.headers


def test_a_token_in_an_address_opens_no_page(broker: EmbeddedBroker) -> None:
    assert browser_of(broker).get("/", token=token("admin")).status == 401


def test_a_cookie_opens_no_route_of_the_admin_api(broker: EmbeddedBroker) -> None:
    browser = signed_in(broker, "admin")
    assert browser.get("/").status == 200
    assert browser.get("/admin/v2/tenants").status == 401


def test_a_user_sees_only_what_the_role_may_see(broker: EmbeddedBroker) -> None:
    consumer, stranger = signed_in(broker, "consumer"), signed_in(broker, "stranger")
    assert consumer.get("/console/topic", name=PLAIN).status == 200
    assert stranger.get("/console/topic", name=PLAIN).status == 401
    assert stranger.get("/console/topics", namespace=NAMESPACE).status == 403
    assert "acme" not in stranger.get("/console/backlogs").outline.text
    assert "Go to tenant" in consumer.get("/").outline.text


def test_a_user_changes_only_what_the_role_may_change_and_the_audit_log_says_so(
    broker: EmbeddedBroker, audit: Path
) -> None:
    form = {"do": "unload", "topic": PLAIN}
    assert signed_in(broker, "producer").post("/console/action", **form).status == 401
    assert signed_in(broker, "owner").post("/console/action", **form).status == 303
    # The broker writes the file in a thread.
    wait_until(lambda: any("/plain/unload" in line and "owner" in line for line in audit.read_text().splitlines()), 30)


def test_signing_out_ends_the_session_in_the_broker(broker: EmbeddedBroker) -> None:
    browser = signed_in(broker, "admin")
    cookie = browser.headers["Cookie"]
    assert browser.post("/console/sign-out").status == 303
    browser.headers["Cookie"] = cookie
    assert browser.get("/").status == 401


def test_a_header_with_credentials_needs_no_session(broker: EmbeddedBroker) -> None:
    browser = browser_of(broker)
    browser.headers["Authorization"] = f"Bearer {token('admin')}"
    assert "Signed in as admin" in browser.get("/").outline.text


# The sessions themselves


def test_a_session_ends_when_it_is_not_used() -> None:
    clock = StillClock()
    sessions = Sessions(ConsoleConfig(idle_seconds=60), clock)
    cookie = f"{COOKIE}={sessions.open({'Authorization': 'x'})}"
    clock.seconds += 59
    assert sessions.find(cookie) is not None
    clock.seconds += 59
    assert sessions.find(f"a=b; {cookie}; c=d") is not None
    clock.seconds += 61
    assert sessions.find(cookie) is None


def test_one_session_too_many_ends_the_one_that_was_not_used_for_the_longest_time() -> None:
    sessions = Sessions(ConsoleConfig(sessions=2), StillClock())
    first, second = (f"{COOKIE}={sessions.open({})}" for _ in range(2))
    assert sessions.find(first) is not None
    third = f"{COOKIE}={sessions.open({})}"
    assert [sessions.find(one) is not None for one in (first, second, third)] == [True, False, True]


@pytest.mark.parametrize("cookies", ["", COOKIE, f"{COOKIE}=", f"{COOKIE}=x", f"x{COOKIE}=" + "a" * 43])
def test_other_cookies_name_no_session(cookies: str) -> None:
    sessions = Sessions(ConsoleConfig(), StillClock())
    sessions.open({})
    assert sessions.find(cookies) is None


# Connections that others can read


def signing_in(broker: EmbeddedBroker, **connection: bool) -> Answer:
    form = f"token={token('admin')}".encode()
    sessions = Sessions(ConsoleConfig(), StillClock())
    call = Call(broker.broker, {}, {}, form, {}, None, path="/console/sign-in", sessions=sessions, **connection)  # type: ignore[arg-type]  # no body memory
    return broker.call(accept_sign_in(call))


def test_credentials_are_not_accepted_over_a_connection_that_others_can_read(broker: EmbeddedBroker) -> None:
    answer = signing_in(broker, is_private=False)
    assert answer.status == 401
    assert b"Use https" in bytes(answer.body) and b'name="token"' not in bytes(answer.body)
    assert "Set-Cookie" not in dict(answer.headers)


def test_over_tls_the_cookie_is_sent_over_tls_only(broker: EmbeddedBroker) -> None:
    answer = signing_in(broker, is_private=True, is_secure=True)
    assert answer.status == 303
    assert dict(answer.headers)["Set-Cookie"].endswith("; Secure")
