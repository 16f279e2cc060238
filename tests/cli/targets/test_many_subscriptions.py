"""Verbs of `subscriptions` on several topics: named, from a file, or matched; failures by name."""

from collections.abc import Callable

import pytest

from tests.support.runner import Cli, Outcome

NAMESPACE = "public/many-subs"
A, B, C = (f"persistent://{NAMESPACE}/{name}" for name in "abc")
MISSING = "persistent://public/no-such-namespace/t"
ACTIONS: dict[str, tuple[str, ...]] = {
    "create": ("-s", "other"),
    "delete": ("-s", "sub", "--yes"),
    "skip": ("-s", "sub", "-n", "1", "--yes"),
    "skip --all": ("-s", "sub", "--yes"),
    "expire": ("-s", "sub", "-t", "1h", "--yes"),
    "seek": ("-s", "sub", "-m", "earliest", "--yes"),
}


@pytest.fixture
def subscribed(cli: Cli) -> Callable[[str], list[str]]:
    """Two topics with a subscription `sub`, and one without it. Returns what tells the topics that have one."""
    cli("namespaces", "create", NAMESPACE)
    cli("topics", "delete", f"{NAMESPACE}/.*", "-r", "--yes", "--force")
    cli("topics", "create", A, B, C)
    cli("topics", "create-subscription", A, B, "-s", "sub")

    def having(name: str) -> list[str]:
        return [topic for topic in (A, B, C) if name in cli("subscriptions", "list", topic).stdout.split()]

    return having


@pytest.mark.usefixtures("subscribed")
@pytest.mark.parametrize("verb", ACTIONS)
def test_a_verb_acts_on_the_others_if_one_fails(cli: Cli, verb: str) -> None:
    done = cli("subscriptions", *verb.split(), A, MISSING, B, *ACTIONS[verb], "-v")
    assert done.exit_code == 10, done.stderr
    assert all(f"/{NAMESPACE}/{name}/" in done.stderr for name in ("a", "b"))
    assert f"error: {MISSING}: " in done.stderr


@pytest.mark.usefixtures("subscribed")
@pytest.mark.parametrize("verb", [verb for verb in ACTIONS if verb != "create"])
def test_a_pattern_passes_over_topics_without_the_subscription(cli: Cli, verb: str) -> None:
    done = cli("subscriptions", *verb.split(), f"{NAMESPACE}/.", "--regex", *ACTIONS[verb], "-v")
    assert done.exit_code == 0, done.stderr
    assert all(f"/{NAMESPACE}/{name}/" in done.stderr for name in "abc")


def test_a_subscription_is_deleted_from_all_topics_of_a_namespace(
    cli: Cli, subscribed: Callable[[str], list[str]]
) -> None:
    assert cli("subscriptions", "delete", "--namespace", NAMESPACE, "-s", "sub", "--yes") == Outcome(0, "", "")
    assert subscribed("sub") == []


def test_a_pattern_may_be_followed_by_the_subscription(cli: Cli, subscribed: Callable[[str], list[str]]) -> None:
    assert cli("subscriptions", "create", f"{NAMESPACE}/.", "other", "--regex").exit_code == 0
    assert subscribed("other") == [A, B, C]


def test_topics_come_from_a_file(cli: Cli, subscribed: Callable[[str], list[str]]) -> None:
    done = cli("subscriptions", "create", "--from-file", "-", "-s", "other", "--parallel", "2", stdin=f"{A}\n{C}\n")
    assert (done.exit_code, subscribed("other")) == (0, [A, C])


@pytest.mark.parametrize("words", [(A, B), ("--namespace", NAMESPACE), (f"{NAMESPACE}/.", "--regex")])
@pytest.mark.parametrize("verb", [verb for verb in ACTIONS if verb != "create"])
def test_changing_several_topics_requires_consent(
    cli: Cli, subscribed: Callable[[str], list[str]], verb: str, words: tuple[str, ...]
) -> None:
    done = cli("subscriptions", *verb.split(), *words, *ACTIONS[verb][:-1])
    assert (done.exit_code, "confirm with --yes" in done.stderr) == (2, True), done.stderr
    assert subscribed("sub") == [A, B]


@pytest.mark.parametrize("words", [(A,), (A, B, "sub"), ("sub", "--namespace", NAMESPACE)])
def test_without_s_only_one_topic_and_its_subscription_are_named(
    cli: Cli, subscribed: Callable[[str], list[str]], words: tuple[str, ...]
) -> None:
    done = cli("subscriptions", "delete", *words, "--yes")
    assert (done.exit_code, "no subscription given" in done.stderr) == (2, True), done.stderr
    assert subscribed("sub") == [A, B]


@pytest.mark.usefixtures("subscribed")
def test_a_time_to_which_several_topics_move_is_said_once(cli: Cli) -> None:
    done = cli("subscriptions", "seek", A, B, "-s", "sub", "-t", "1h", "--yes")
    assert done.exit_code == 0, done.stderr
    assert done.stderr.startswith("subscription sub of 2 topics moved to 20")
