"""Failed attempts are delayed, then refused; clients whose credentials were accepted before are not affected."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Iterator

import pytest

from broker_core.config.security import SecurityConfig
from broker_core.errors import AuthenticationFailed
from broker_core.security.attempts import FIRST_DELAY, FORGET_SECONDS
from broker_core.security.check_queue import AT_A_TIME, WAITING_MAX
from broker_core.security.login_throttle import ACCEPTED_MAX, Attempt, LoginThrottle
from broker_core.security.provider import Credentials, Identity
from broker_core.testing import EmbeddedBroker
from tests.support.clocks import StillClock
from tests.support.secured import SECRET_URL, ask, config, prepare, token

MANY = 1_000_000
HOUSE, STREET = "10.0.0.1", "10.0.0.2"


class Door:
    """A throttle before one user, `alice`, whose password is `right`. `checked` counts what was not refused."""

    def __init__(self, *, free: int = MANY, free_of_user: int = MANY, most: int = 5) -> None:
        self.clock = StillClock()
        self.checked = 0
        limits = SecurityConfig(failed_attempts=free, failed_attempts_of_user=free_of_user, refused_attempts=most)
        self.throttle = LoginThrottle(limits, self.clock)

    async def knock(self, password: str, address: str = HOUSE, user: str = "alice", *, is_proxied: bool = False) -> str:
        """The role, or an empty text for a refusal."""

        async def judge() -> Identity:
            self.checked += 1
            if (user, password) != ("alice", "right"):
                raise AuthenticationFailed("wrong password")
            return Identity(user)

        sent = (("basic", Credentials(f"{user}:{password}".encode())),)
        try:
            return (await self.throttle.judged(Attempt(address, "basic", sent, is_proxied), judge)).role
        except AuthenticationFailed:
            return ""

    async def fail(self, times: int, address: str = HOUSE, user: str = "alice", *, is_proxied: bool = False) -> None:
        for number in range(times):
            assert await self.knock(f"guess {number}", address, user, is_proxied=is_proxied) == ""


async def test_after_too_many_failures_of_an_address_its_guesses_are_not_checked() -> None:
    door = Door()
    await door.fail(20, user="bob")
    assert (door.checked, door.throttle.refused) == (5, 15)
    assert await door.knock("right") == ""
    assert await door.knock("right", STREET) == "alice"


async def test_after_too_many_failures_of_a_user_guesses_from_all_addresses_are_not_checked() -> None:
    door = Door()
    for number in range(20):
        await door.fail(1, f"10.0.1.{number}")
    assert door.checked == 5
    assert await door.knock("x", STREET, "bob") == ""
    assert door.checked == 6


async def test_a_refusal_ends_a_minute_after_the_last_guess_that_was_checked() -> None:
    door = Door()
    await door.fail(5)
    door.clock.seconds += FORGET_SECONDS
    await door.fail(1)
    assert door.checked == 5
    door.clock.seconds += 1
    assert await door.knock("right") == "alice"


async def test_credentials_that_were_accepted_before_are_never_refused() -> None:
    door = Door(free=1, free_of_user=1, most=1)
    assert await door.knock("right") == "alice"
    await door.fail(2)
    assert (door.checked, door.throttle.refused) == (2, 1)
    started = time.monotonic()
    assert await door.knock("right") == "alice"
    assert await door.knock("right", STREET) == "alice"
    assert time.monotonic() - started < FIRST_DELAY


async def test_failures_behind_a_proxy_count_for_the_user_and_not_for_the_proxy() -> None:
    door = Door()
    await door.fail(10, user="bob", is_proxied=True)
    assert door.checked == 5
    assert await door.knock("right") == "alice"


async def test_a_network_of_one_client_counts_as_one_address() -> None:
    door = Door()
    for number in range(10):
        await door.fail(1, f"2001:db8:0:7::{number:x}", f"user {number}")
    assert door.checked == 5
    assert await door.knock("right", "2001:db8:0:8::1") == "alice"


async def test_the_wire_and_rest_count_together() -> None:
    door = Door()
    await door.fail(3, "/10.0.0.9", "bob")
    await door.fail(3, "10.0.0.9", "eve")
    assert door.checked == 5


async def test_a_client_without_credentials_guesses_nothing() -> None:
    door = Door(most=1)

    async def judge() -> Identity:
        raise AuthenticationFailed("no credentials")

    for _ in range(10):
        with pytest.raises(AuthenticationFailed, match="no credentials"):
            await door.throttle.judged(Attempt(HOUSE, "none", ()), judge)
    assert await door.knock("right") == "alice"
    assert door.throttle.failed == {"none": 10}


async def test_answers_are_delayed_before_they_are_refused() -> None:
    door = Door(free=1)
    started = time.monotonic()
    await door.fail(1)
    assert time.monotonic() - started < FIRST_DELAY
    assert await door.knock("right", user="alice") == "alice"
    assert time.monotonic() - started >= FIRST_DELAY


async def test_the_oldest_credentials_are_forgotten_first() -> None:
    door = Door(most=1)

    async def judge() -> Identity:
        return Identity("someone")

    def attempt(number: int) -> Attempt:
        return Attempt(HOUSE, "token", (("token", Credentials(b"%d" % number)),))

    for number in range(ACCEPTED_MAX + 1):
        await door.throttle.judged(attempt(number), judge)
    await door.fail(1)
    assert (await door.throttle.judged(attempt(1), judge)).role == "someone"
    with pytest.raises(AuthenticationFailed, match="not checked"):
        await door.throttle.judged(attempt(0), judge)


class SlowDoor(Door):
    """As slow as a hash: a check ends when `finish` says so. `begun`: user and address of each check."""

    def __init__(self, *, seconds: float = 60.0) -> None:
        super().__init__(most=100)
        limits = SecurityConfig(
            failed_attempts=MANY, failed_attempts_of_user=MANY, refused_attempts=100, timeout_seconds=seconds
        )
        self.throttle = LoginThrottle(limits, self.clock)
        self.begun: list[tuple[str, str]] = []
        self._running: list[asyncio.Future[None]] = []

    async def knock(self, password: str, address: str = HOUSE, user: str = "alice", *, is_proxied: bool = False) -> str:
        async def judge() -> Identity:
            self.begun.append((user, address))
            self._running.append(asyncio.get_running_loop().create_future())
            await self._running[-1]
            if password != "right":
                raise AuthenticationFailed("wrong password")
            return Identity(user)

        attempt = Attempt(address, "basic", (("basic", Credentials(f"{user}:{password}".encode())),), is_proxied)
        try:
            return (await self.throttle.judged(attempt, judge)).role
        except AuthenticationFailed:
            return ""

    def guess(self, tasks: asyncio.TaskGroup, address: str, user: str = "alice") -> asyncio.Task[str]:
        return tasks.create_task(self.knock("guess", address, user))

    async def finish(self, checks: int) -> None:
        for _ in range(checks):
            await settle()
            self._end_one()

    def _end_one(self) -> None:
        check = self._running.pop(0)
        if not check.cancelled():
            check.set_result(None)

    async def finish_all(self, tasks: list[asyncio.Task[str]]) -> None:
        while not all(task.done() for task in tasks):
            await settle()
            while self._running:
                self._end_one()


async def settle() -> None:
    """Lets every task run until it waits."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_first_log_in_is_checked_before_the_guesses_that_wait() -> None:
    door = SlowDoor()
    async with asyncio.TaskGroup() as tasks:
        guesses = [door.guess(tasks, f"10.0.1.{number % 60}", f"user {number % 7}") for number in range(180)]
        await settle()
        await door.finish(10)
        log_in = tasks.create_task(door.knock("right", STREET, "carol"))
        await settle()
        await door.finish(2)
        await settle()
        assert ("carol", STREET) in door.begun[: 10 + 2 + 2]
        await door.finish_all([*guesses, log_in])
    assert log_in.result() == "carol"


async def test_at_most_two_passwords_are_checked_at_a_time() -> None:
    door = SlowDoor()
    async with asyncio.TaskGroup() as tasks:
        guesses = [door.guess(tasks, f"10.0.1.{number}") for number in range(20)]
        await settle()
        assert len(door.begun) == AT_A_TIME
        await door.finish_all(guesses)
    assert len(door.begun) == 20


async def test_credentials_that_were_accepted_before_are_checked_before_first_log_ins() -> None:
    door = SlowDoor()
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(door.knock("right", STREET, "carol"))
        await door.finish_all([first])
        log_ins = [tasks.create_task(door.knock("right", f"10.0.2.{one}", f"user {one}")) for one in range(6)]
        await settle()
        again = tasks.create_task(door.knock("right", STREET, "carol"))
        await settle()
        await door.finish(1)
        await settle()
        assert door.begun[-1] == ("carol", STREET)
        await door.finish_all([*log_ins, again])


async def test_when_too_many_wait_those_of_the_busiest_address_are_refused() -> None:
    door = SlowDoor()
    async with asyncio.TaskGroup() as tasks:
        guesses = [door.guess(tasks, HOUSE, f"user {number}") for number in range(WAITING_MAX + AT_A_TIME)]
        log_in = tasks.create_task(door.knock("right", STREET, "carol"))
        await settle()
        assert (door.throttle.refused, guesses[-1].done(), guesses[-2].done()) == (1, True, False)
        assert door.throttle.failed == {}
        await door.finish_all([*guesses, log_in])
    assert log_in.result() == "carol"


async def test_a_guess_that_waits_for_too_long_is_refused_and_does_not_count_as_a_failure() -> None:
    door = SlowDoor(seconds=0.05)
    async with asyncio.TaskGroup() as tasks:
        guesses = [door.guess(tasks, HOUSE) for _ in range(5)]
        await asyncio.gather(*guesses[2:])
        assert door.throttle.refused == 3
        await door.finish_all(guesses)
    assert (len(door.begun), door.throttle.failed) == (2, {"basic": 2})


async def test_guesses_that_wait_are_refused_once_too_many_others_failed() -> None:
    door = SlowDoor()
    async with asyncio.TaskGroup() as tasks:
        guesses = [door.guess(tasks, f"10.0.1.{number}") for number in range(150)]
        await door.finish_all(guesses)
    assert (door.throttle.failed["basic"], door.throttle.refused) == (100, 50)


@pytest.mark.parametrize("given_up", [1, 4])
async def test_a_client_that_leaves_makes_room_for_the_next(given_up: int) -> None:
    door = SlowDoor()
    async with asyncio.TaskGroup() as tasks:
        guesses = [door.guess(tasks, f"10.0.1.{number}") for number in range(6)]
        await settle()
        guesses[given_up].cancel()
        await settle()
        await door.finish_all(guesses)
        next_one = tasks.create_task(door.knock("right", STREET, "carol"))
        await door.finish_all([next_one])
    assert next_one.result() == "carol"


async def test_a_client_that_leaves_during_its_check_keeps_the_place_and_counts_as_a_failure() -> None:
    door = SlowDoor()
    async with asyncio.TaskGroup() as tasks:
        guesses = [door.guess(tasks, HOUSE, f"user {number}") for number in range(AT_A_TIME + 1)]
        await settle()
        for guess in guesses[:AT_A_TIME]:
            guess.cancel()
        await settle()
        assert (len(door.begun), door.throttle.failed) == (AT_A_TIME, {})
        await door.finish(AT_A_TIME)
        await settle()
        assert (len(door.begun), door.throttle.failed) == (AT_A_TIME + 1, {"basic": AT_A_TIME})
        await door.finish_all(guesses)


async def test_a_client_that_leaves_just_before_its_check_makes_room_for_the_next() -> None:
    door = SlowDoor()
    async with asyncio.TaskGroup() as tasks:
        guesses = [door.guess(tasks, f"10.0.1.{number}") for number in range(6)]
        await door.finish(1)
        guesses[AT_A_TIME].cancel()  # the next one; the check that has just ended has not admitted it yet
        await door.finish_all(guesses)
    assert len(door.begun) == 5


async def test_a_client_that_leaves_as_the_queue_overflows_is_no_error_of_another() -> None:
    door = SlowDoor()
    async with asyncio.TaskGroup() as tasks:
        guesses = [door.guess(tasks, HOUSE, f"user {number}") for number in range(WAITING_MAX + AT_A_TIME)]
        await settle()
        log_in = tasks.create_task(door.knock("right", STREET, "carol"))
        guesses[-1].cancel()  # the one that would be refused
        await door.finish_all([*guesses, log_in])
    assert log_in.result() == "carol"


def test_an_attempt_does_not_show_its_password() -> None:
    assert "secret" not in repr(Attempt(HOUSE, "basic", (("basic", Credentials(b"alice:secret")),)))


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    users = base64.b64encode(b"alice:{SHA}" + base64.b64encode(bytes(20))).decode()
    given = {
        "providers": "AuthenticationProviderToken,AuthenticationProviderBasic",
        "basic_file": f"data:;base64,{users}",
        "token_secret_key": SECRET_URL,
        "failed_attempts_of_user": 1_000,
        "refused_attempts": 3,
    }
    with EmbeddedBroker(config=config(**given)) as found:
        prepare(found)
        yield found


def test_failures_and_refusals_are_counted_in_the_metrics(broker: EmbeddedBroker) -> None:
    def guess(number: int) -> int:
        sent = base64.b64encode(b"alice:%d" % number).decode()
        return ask(broker, "GET", "clusters", role="", Authorization=f"Basic {sent}").status

    assert [guess(number) for number in range(5)] == [401] * 5
    assert ask(broker, "GET", "tenants").status == 200  # the token of the admin was accepted before
    assert ask(broker, "GET", "clusters", role="", Authorization=f"Bearer {token('new')}").status == 401
    shown = ask(broker, "GET", "/metrics", role="").text
    assert 'pulsar_authentication_failures_total{cluster="standalone",auth_method="basic"} 3\n' in shown
    assert 'pulsarctl_authentication_refusals_total{cluster="standalone"} 3\n' in shown
    assert "# TYPE pulsar_authentication_success_total counter\n" in shown
    assert 'pulsar_authentication_success_total{cluster="standalone",auth_method="basic"} 0\n' in shown


def test_a_method_that_a_client_makes_up_is_no_label(broker: EmbeddedBroker) -> None:
    sent = {"X_Pulsar_Auth_Method_Name": "made-up"}
    assert ask(broker, "GET", "tenants", role="", **sent).status == 401
    shown = ask(broker, "GET", "/metrics", role="").text
    assert "made-up" not in shown
    assert 'auth_method="unknown"' in shown
