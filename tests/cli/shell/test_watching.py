"""`--watch`: a command that repeats itself on a terminal and in a pipe."""

import json
import re
import signal
import socket
from dataclasses import dataclass
from pathlib import Path

import pytest

from pulsarctl.shell.watching import with_seconds
from tests.cli.drawn import Drawn
from tests.support.http_stub import HttpStub, Reply, Request
from tests.support.program import Program, run
from tests.support.runner import Cli

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
LIST = ("tenants", "list", "--watch", "200ms")


@dataclass
class Tenants:
    """A cluster that has one more tenant in each round. `status` of the answers may change."""

    rounds: int = 0
    status_from: tuple[int, int] = (1000, 200)  # round, status

    def __call__(self, _request: Request) -> Reply:
        self.rounds += 1
        first, status = self.status_from
        if self.rounds >= first:
            return Reply(status, {"reason": "Tenants do not exist"})
        return Reply(200, [f"tenant-{each}" for each in range(self.rounds)])


@pytest.mark.parametrize(
    ("line", "read_as"),
    [
        ("--watch", "--watch=2"),
        ("--watch 5", "--watch=5"),
        ("--watch 500ms orders", "--watch=500ms orders"),
        ("--watch orders", "--watch=2 orders"),
        ("orders --watch -o json", "orders --watch=2 -o json"),
        ("--watch 2 5", "--watch=2 5"),
        ("--watch=7 orders", "--watch=7 orders"),
        ("--watch --watch 3", "--watch=2 --watch=3"),
        ("-- --watch", "-- --watch"),
        ("--watch 0", "--watch=0"),
        ("--watch 0.5s", "--watch=0.5s"),
        ("--watch -1", "--watch=-1"),
        ("--watch -- 5", "--watch=2 -- 5"),
        ("orders", "orders"),
    ],
)
def test_the_next_word_is_the_interval_only_if_it_looks_like_a_duration(line: str, read_as: str) -> None:
    assert with_seconds(line.split()) == read_as.split()


def test_a_pipe_gets_one_block_after_another_and_only_data(tmp_path: Path) -> None:
    with HttpStub(Tenants()) as stub, Program(tmp_path, "--admin-url", stub.url, *LIST) as program:
        lines = program.read_lines(3)
        program.send(signal.SIGINT)
        assert program.finish() == 130
    assert lines == [b"tenant-0\n", b"tenant-0\n", b"tenant-1\n"]
    assert program.stderr == b""


def test_lines_of_json_stay_lines_of_json(tmp_path: Path) -> None:
    with HttpStub(Tenants()) as stub, Program(tmp_path, "--admin-url", stub.url, *LIST, "-o", "jsonl") as program:
        lines = program.read_lines(3)
        program.send(signal.SIGTERM)
        assert program.finish() == 143
    assert [list(json.loads(line).values()) for line in lines] == [["tenant-0"], ["tenant-0"], ["tenant-1"]]


def test_a_terminal_shows_the_last_round_only_and_keeps_it_at_the_end(tmp_path: Path) -> None:
    with HttpStub(Tenants()) as stub, Drawn(tmp_path, "--admin-url", stub.url, *LIST, environ={}) as screen:
        screen.wait_for(lambda drawn: "tenant-2" in drawn.frame)
        assert TIME.fullmatch(screen.frame[0])
        assert screen.frame[1:5] == ["TENANT", "tenant-0", "tenant-1", "tenant-2"]
        screen.send(signal.SIGINT)
        assert screen.finish() == 130
    left = screen.raw.rpartition("\x1b[?1049l")[2].replace("\r", "").split("\n")
    assert left[1:5] == ["TENANT", "tenant-0", "tenant-1", "tenant-2"]


def test_a_broker_that_cannot_be_reached_is_asked_again(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        unused_port = reserved.getsockname()[1]
    with Program(tmp_path, "--admin-url", f"http://127.0.0.1:{unused_port}", *LIST) as program:
        assert program.read_error_lines(1)[0].startswith(b"error: cannot reach the broker at ")
        with HttpStub(Tenants(), port=unused_port):
            while b"tenant-0" not in program.stdout:
                program.read_lines(program.stdout.count(b"\n") + 1)
            program.send(signal.SIGINT)
            assert program.finish() == 130


def test_any_other_error_ends_the_command_with_its_code(tmp_path: Path) -> None:
    with HttpStub(Tenants(status_from=(2, 404))) as stub:
        ended = run(tmp_path, "--admin-url", stub.url, *LIST)
    assert (ended.exit_code, ended.stdout.count(b"tenant-0")) == (3, 1)


@pytest.mark.parametrize("interval", ["0", "0.1", "-1"])
def test_an_interval_that_is_too_short_is_refused(cli_alone: Cli, interval: str) -> None:
    outcome = cli_alone("tenants", "list", "--watch", interval)
    assert outcome.exit_code == 2
    assert interval in outcome.stderr


def test_only_verbs_that_read_are_watched(cli: Cli) -> None:
    assert "--watch [SECONDS]" in cli("topics", "stats", "--help").stdout
    refused = cli("topics", "delete", "orders", "--watch")
    assert (refused.exit_code, refused.stderr.splitlines()[0]) == (2, "error: No such option: --watch")
