"""`topics compact`, as a cron job runs it. A stub answers as a broker does in its rarer states."""

import threading
from collections.abc import Iterator

import pytest

from tests.support.http_stub import HttpStub, Reply, Request
from tests.support.runner import Cli, Outcome

SILENT = Outcome(0, "", "")
TOPIC = "persistent://public/default/prices"


class Mood:
    """A broker with one topic and the states of its compaction, in order; the last one stays."""

    def __init__(self, *statuses: str, refuse: bool = False, backlog: int = 0, partitions: int = 0) -> None:
        self._statuses = list(statuses)
        self._refuse = refuse
        self._backlog = backlog
        self._partitions = partitions
        self.started: list[str] = []

    def __call__(self, request: Request) -> Reply:
        path = request.path.partition("?")[0]
        if path.endswith("/partitions"):
            return Reply(200, {"partitions": self._partitions})
        if path.endswith("/stats"):
            cursor = {"__compaction": {"backlogSize": self._backlog}} if self._backlog else {}
            return Reply(200, {"storageSize": 5000, "subscriptions": cursor})
        if request.method == "GET":
            status = self._statuses.pop(0) if len(self._statuses) > 1 else self._statuses[0]
            return Reply(200, {"status": status, "lastError": "disk full" if status == "ERROR" else ""})
        if self._refuse:
            return Reply(409, {"reason": "Compaction already in progress"})
        self.started.append(path.split("/")[-2])
        return Reply(204)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The pauses between two polls, which the test skips."""
    pauses: list[float] = []
    monkeypatch.setattr("pulsarctl.shell.broker_tasks.pause", pauses.append)
    yield pauses


def compact(cli: Cli, mood: Mood, *flags: str) -> Outcome:
    with HttpStub(mood) as stub:
        return cli("topics", "compact", "prices", "--admin-url", stub.url, *flags)


def test_success_prints_nothing(cli_alone: Cli, quick: list[float]) -> None:
    mood = Mood("NOT_RUN", "RUNNING", "RUNNING", "RUNNING", "SUCCESS")
    assert compact(cli_alone, mood, "--wait") == SILENT
    assert mood.started == ["prices"]
    assert quick == [0.05, 0.1, 0.2]


def test_without_wait_compaction_is_only_requested(cli_alone: Cli) -> None:
    assert compact(cli_alone, Mood("NOT_RUN")) == SILENT


def test_a_failure_is_one_line_and_exits_with_1(cli_alone: Cli, quick: list[float]) -> None:
    assert compact(cli_alone, Mood("NOT_RUN", "RUNNING", "ERROR"), "--wait") == Outcome(
        1, "", f"error: the compaction of {TOPIC} failed: disk full\n"
    )


def test_a_running_compaction_exits_with_8(cli_alone: Cli) -> None:
    mood = Mood("RUNNING")
    assert compact(cli_alone, mood, "--wait") == Outcome(
        8, "", f"error: cannot compact {TOPIC}: a compaction is running\nhint: wait for it, or use --skip-if-running\n"
    )
    assert mood.started == []


def test_a_compaction_started_by_another_host_in_between_exits_with_8(cli_alone: Cli) -> None:
    outcome = compact(cli_alone, Mood("NOT_RUN", refuse=True), "--wait")
    assert (outcome.exit_code, outcome.stderr.startswith("error: Compaction already in progress (409")) == (8, True)


@pytest.mark.parametrize("mood", [Mood("RUNNING"), Mood("NOT_RUN", refuse=True)])
def test_a_running_compaction_can_be_skipped(cli_alone: Cli, mood: Mood) -> None:
    assert compact(cli_alone, mood, "--wait", "--skip-if-running") == SILENT


@pytest.mark.parametrize(
    ("backlog", "if_over", "starts"), [(0, "4K", True), (0, "5000", False), (10, "9", True), (10, "10", False)]
)
def test_only_topics_above_the_size_are_compacted(cli_alone: Cli, backlog: int, if_over: str, starts: bool) -> None:
    """Before the first compaction, everything is uncompacted; later, what the compaction cursor has not read."""
    mood = Mood("SUCCESS", backlog=backlog)
    assert compact(cli_alone, mood, "--wait", "--if-over", if_over) == SILENT
    assert bool(mood.started) is starts


def test_every_partition_is_compacted(cli_alone: Cli) -> None:
    mood = Mood("SUCCESS", partitions=3)
    assert compact(cli_alone, mood, "--wait") == SILENT
    assert mood.started == ["prices-partition-0", "prices-partition-1", "prices-partition-2"]


def test_a_compaction_that_takes_too_long_exits_with_7(cli_alone: Cli) -> None:
    assert compact(cli_alone, Mood("NOT_RUN", "RUNNING"), "--wait", "--timeout", "0") == Outcome(
        7, "", f"error: the compaction of {TOPIC} is still running after 0\nhint: wait longer with --timeout\n"
    )


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("NOT_RUN", Outcome(0, f"Compaction has not been run for {TOPIC} since broker startup\n", "")),
        ("RUNNING", Outcome(0, "Compaction is currently running\n", "")),
        ("SUCCESS", Outcome(0, "Compaction was a success\n", "")),
        ("ERROR", Outcome(1, "", f"error: the compaction of {TOPIC} failed: disk full\n")),
    ],
)
def test_the_status_is_worded_as_in_pulsar_admin(cli_alone: Cli, status: str, outcome: Outcome) -> None:
    with HttpStub(Mood(status)) as stub:
        assert cli_alone("topics", "compaction-status", "prices", "--admin-url", stub.url) == outcome


def test_wait_waits_for_a_real_compaction(cli: Cli) -> None:
    assert cli("topics", "create-partitioned", "compacted", "-p", "2") == SILENT
    assert cli("topics", "compact", "compacted", "--wait") == SILENT
    assert cli("topics", "compaction-status", "compacted-partition-1") == Outcome(0, "Compaction was a success\n", "")
    shown = cli("topics", "compaction-status", "compacted").stdout.splitlines()
    assert [line.rpartition("-")[2].split("    ") for line in shown] == [[n, "Compaction was a success"] for n in "01"]
    assert cli("topics", "delete", "compacted") == SILENT


def test_all_topics_of_a_namespace_are_compacted_and_failures_are_named(cli: Cli) -> None:
    cli("namespaces", "create", "public/compact")
    for name in ("a", "b", "non-persistent://public/compact/passing"):
        cli("topics", "create", name if "://" in name else f"public/compact/{name}")
    assert cli("topics", "compact", "--namespace", "public/compact", "--wait", "--parallel", "1") == SILENT
    for name in ("a", "b"):
        assert "success" in cli("topics", "compaction-status", f"public/compact/{name}").stdout
    failed = cli("topics", "compact", "public/compact/a", "public/compact/missing", "--wait")
    assert (failed.exit_code, failed.stdout) == (10, "")
    assert failed.stderr.splitlines()[-1] == "error: cannot compact 1 of 2 topics"
    assert cli("topics", "delete", "--namespace", "public/compact", "--yes") == SILENT


def test_as_many_topics_as_asked_are_compacted_at_a_time(cli_alone: Cli) -> None:
    """No compaction starts before another one does: one at a time breaks the barrier."""
    running: set[str] = set()
    counts: list[int] = []
    pair = threading.Barrier(2)

    def answer(request: Request) -> Reply:
        topic = request.path.split("/")[-2]
        if request.path.endswith("/partitions"):
            return Reply(200, {"partitions": 0})
        if request.method == "PUT":
            running.add(topic)
            counts.append(len(running))
            pair.wait(20)
            return Reply(204)
        status = "SUCCESS" if topic in running else "NOT_RUN"
        running.discard(topic)
        return Reply(200, {"status": status})

    with HttpStub(answer) as stub:
        topics = [f"t{number}" for number in range(6)]
        flags = ("--wait", "--parallel", "2", "--admin-url", stub.url)
        assert cli_alone("topics", "compact", *topics, *flags) == SILENT
    assert (max(counts), running) == (2, set())
