"""`--embedded DIR`: one owner at a time, even after the last one was killed."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.support.program import Program, run
from tests.support.runner import Cli, Outcome

TURNS_SECONDS = 240  # a busy machine needs more than a minute for eight brokers, one after the other
READ = ("read", "t", "-m", "earliest", "-e", "-F", "%v\\n")


def embedded(home: Path, *words: str) -> tuple[str, ...]:
    return ("--embedded", str(home / "dir"), *words)


def here(home: Path, *words: str) -> Outcome:
    """Runs a command in this process, where a second process would only cost time."""
    return Cli(home)(*embedded(home, *words))


def test_commands_find_the_data_of_earlier_commands(tmp_path: Path) -> None:
    ended = here(tmp_path, "produce", "t", "-m", "kept")
    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "", "1 messages successfully produced\n")
    assert run(tmp_path, *embedded(tmp_path, *READ)).stdout == b"kept\n"


def test_the_option_can_follow_the_command(tmp_path: Path) -> None:
    assert (
        run(tmp_path, "tenants", "list", "--embedded", "dir", "-o", "jsonl").stdout
        == b'{"tenant":"public"}\n{"tenant":"pulsar"}\n'
    )


@pytest.mark.timeout(2 * TURNS_SECONDS)
def test_messages_of_eight_concurrent_commands_all_arrive(tmp_path: Path) -> None:
    """They take turns, so the last one waits for seven brokers to start and stop."""
    words = embedded(tmp_path, "--lock-timeout", f"{TURNS_SECONDS}s", "produce", "t", "-m")
    programs = [Program(tmp_path, *words, str(number)) for number in range(8)]
    try:
        ended = [(program.finish(TURNS_SECONDS), program.stderr.decode()) for program in programs]
        assert [problem for code, problem in ended if code] == []
    finally:
        for program in programs:
            program.__exit__()
    assert sorted(here(tmp_path, *READ).stdout.split()) == [str(number) for number in range(8)]


def holder(home: Path) -> Program:
    """A command that keeps the lock of the directory until the test ends it."""
    here(home, "produce", "t", "-m", "first")
    program = Program(home, *embedded(home, "consume", "t", "-p", "Earliest", "-n", "0", "-F", "%v\\n"))
    program.read_lines(1)
    return program


def test_a_second_command_waits_and_then_reports_the_owner(tmp_path: Path) -> None:
    with holder(tmp_path) as owner:
        ended = here(tmp_path, "--lock-timeout", "200ms", *READ)
        assert (ended.exit_code, ended.stdout) == (8, "")
        assert f"in use by process {owner.pid}" in ended.stderr


def test_a_second_command_continues_when_the_owner_ends(tmp_path: Path) -> None:
    with holder(tmp_path) as owner, Program(tmp_path, *embedded(tmp_path, *READ)) as waiting:
        owner.send(signal.SIGINT)
        assert owner.finish() == 130
        assert waiting.finish() == 0
        assert waiting.stdout == b"first\n"


def test_a_killed_owner_does_not_keep_the_lock(tmp_path: Path) -> None:
    with holder(tmp_path) as owner:
        owner.send(signal.SIGKILL)
        owner.finish()
    assert here(tmp_path, "--lock-timeout", "0", *READ).stdout == "first\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_no_process_running(tmp_path: Path, number: signal.Signals) -> None:
    with holder(tmp_path) as owner:
        owner.send(number)
        assert owner.finish() == 128 + number
        with pytest.raises(ProcessLookupError):
            os.kill(owner.pid, 0)


def test_a_running_standalone_broker_is_used(tmp_path: Path) -> None:
    with Program(
        tmp_path, "standalone", "--data-dir", "dir", "--port", "0", "--http-port", "0", "--print-urls", "json"
    ) as broker:
        urls = json.loads(broker.read_lines(1)[0])
        ended = here(tmp_path, "produce", "t", "-m", "x", "--verbose")
        assert ended.exit_code == 0
        assert urls["service_url"] in ended.stderr
        broker.send(signal.SIGTERM)
        assert broker.finish() == 0
    assert here(tmp_path, *READ).stdout == "x\n"


def test_addresses_that_a_killed_standalone_left_are_not_used(tmp_path: Path) -> None:
    with Program(
        tmp_path, "standalone", "--data-dir", "dir", "--port", "0", "--http-port", "0", "--print-urls", "json"
    ) as broker:
        broker.read_lines(1)
        broker.send(signal.SIGKILL)
        broker.finish()
    assert (tmp_path / "dir" / "owner.json").exists()
    with holder(tmp_path):
        ended = here(tmp_path, "--lock-timeout", "200ms", *READ)
        assert ended.exit_code == 8, "other commands cannot use the broker of an embedded owner"
    assert not (tmp_path / "dir" / "owner.json").exists()


def test_a_directory_of_another_program_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / "mine").write_text("x")
    ended = here(tmp_path, *READ)
    assert ended.exit_code == 1
    assert "FORMAT" in ended.stderr and "Traceback" not in ended.stderr


def test_a_path_with_spaces_and_umlauts_works(tmp_path: Path) -> None:
    ended = Cli(tmp_path)("--embedded", str(tmp_path / "ein ordner ü 🚀"), "produce", "t", "-m", "x")
    assert ended.exit_code == 0


def test_data_of_another_cluster_is_refused_with_the_setting_to_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PULSARCTL_CONF_clusterName", "west")
    assert here(tmp_path, "produce", "t", "-m", "kept").exit_code == 0
    monkeypatch.delenv("PULSARCTL_CONF_clusterName")
    ended = here(tmp_path, *READ)
    assert ended.exit_code == 1 and "it belongs to cluster west" in ended.stderr
    assert ended.stderr.splitlines()[-1] == "hint: set PULSARCTL_CONF_clusterName=west in the environment"
