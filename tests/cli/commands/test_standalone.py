"""`standalone` as a process: its data directory, what it reports, and how it stops."""

import json
import os
import signal
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.support.clusters import config_of
from tests.support.program import Program, run

FREE = ("--port", "0", "--http-port", "0", "--print-urls", "json")


@contextmanager
def standalone(
    home: Path, *words: str, environ: dict[str, str] | None = None
) -> Iterator[tuple[Program, dict[str, Any]]]:
    """The process once it is ready, and what it printed."""
    with Program(home, "standalone", *FREE, *words, environ=environ) as program:
        yield program, json.loads(program.read_lines(1)[0])


def stop(program: Program) -> int:
    program.send(signal.SIGTERM)
    return program.finish()


def test_standalone_serves_until_sigterm(tmp_path: Path) -> None:
    with standalone(tmp_path, "--data-dir", "data") as (program, urls):
        client = pulsar.Client(urls["service_url"], logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
        client.create_producer("t").send(b"x")
        client.close()
        assert stop(program) == 0


def test_standalone_reports_its_process_and_its_addresses(tmp_path: Path) -> None:
    ready, data = tmp_path / "ready", tmp_path / "data"
    with standalone(tmp_path, "--data-dir", str(data), "--ready-file", str(ready)) as (program, urls):
        assert urls["pid"] == program.pid and urls["data_dir"] == str(data)
        assert set(urls) == {"pid", "service_url", "http_url", "data_dir", "version"}
        assert json.loads(ready.read_text()) == urls
        assert json.loads((data / "owner.json").read_text()) == urls
        assert stat.S_IMODE((data / "owner.json").stat().st_mode) == 0o600
        assert stop(program) == 0
    assert not ready.exists() and not (data / "owner.json").exists()
    assert str(data).encode() in program.stderr
    assert program.stdout.count(b"\n") == 1


def test_the_default_directory_belongs_to_the_user(tmp_path: Path) -> None:
    with standalone(tmp_path, environ={"XDG_DATA_HOME": str(tmp_path / "xdg")}) as (program, urls):
        data = Path(urls["data_dir"])
        assert stat.S_IMODE(data.stat().st_mode) == 0o700
        assert stop(program) == 0
    assert data.parts[-2:] == ("pulsarctl", "standalone") and data.is_relative_to(tmp_path)


def test_the_environment_names_the_directory(tmp_path: Path) -> None:
    data = tmp_path / "mit Leerzeichen und ü 🚀"
    with standalone(tmp_path, environ={"PULSARCTL_DATA_DIR": str(data)}) as (program, urls):
        assert urls["data_dir"] == str(data)
        assert stop(program) == 0
    assert (data / "FORMAT").exists()


@pytest.mark.parametrize("flag", ["--port", "--http-port"])
def test_a_port_in_use_is_reported_before_the_directory_is_touched(tmp_path: Path, flag: str) -> None:
    other = "--http-port" if flag == "--port" else "--port"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = run(tmp_path, "standalone", "--data-dir", "data", flag, port, other, "0")
    assert (ended.exit_code, ended.stdout) == (1, b"")
    assert f"port {port} is in use" in ended.stderr and f"{flag} 0" in ended.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_directory_is_one_line_of_error(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    ended = run(tmp_path, "standalone", "--data-dir", str(locked / "data"), *FREE)
    assert ended.exit_code == 1
    assert ended.stderr.count("error: ") == 1 and str(locked) in ended.stderr and "Traceback" not in ended.stderr


def test_a_file_in_place_of_the_directory_is_one_line_of_error(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("mine")
    ended = run(tmp_path, "standalone", "--data-dir", "data", *FREE)
    assert ended.exit_code == 1
    assert "cannot use the data directory" in ended.stderr and "Traceback" not in ended.stderr
    assert (tmp_path / "data").read_text() == "mine"


def test_a_second_process_is_refused_with_the_id_of_the_owner(tmp_path: Path) -> None:
    with standalone(tmp_path, "--data-dir", "data") as (program, _urls):
        ended = run(tmp_path, "standalone", "--data-dir", "data", *FREE)
        assert ended.exit_code == 8
        assert f"in use by process {program.pid}" in ended.stderr
        assert stop(program) == 0


def test_wiping_empties_a_data_directory(tmp_path: Path) -> None:
    with standalone(tmp_path, "--data-dir", "data") as (program, urls):
        environ = {"PULSARCTL_SERVICE_URL": urls["service_url"]}
        assert run(tmp_path, "produce", "t", "-m", "x", environ=environ).exit_code == 0
        assert stop(program) == 0
    with standalone(tmp_path, "--data-dir", "data", "--wipe-data") as (program, urls):
        environ = {"PULSARCTL_SERVICE_URL": urls["service_url"]}
        assert run(tmp_path, "read", "t", "-m", "earliest", "-e", environ=environ).exit_code == 3
        assert stop(program) == 0


def test_wiping_refuses_a_directory_of_another_program(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "thesis.txt").write_text("years of work")
    ended = run(tmp_path, "standalone", "--data-dir", "data", "--wipe-data", *FREE)
    assert ended.exit_code == 1
    assert "FORMAT" in ended.stderr
    assert (tmp_path / "data" / "thesis.txt").read_text() == "years of work"


def test_a_setting_is_passed_by_its_pulsar_name(tmp_path: Path) -> None:
    with standalone(tmp_path, "--data-dir", "data", "-X", "maxMessageSize=1000") as (program, urls):
        environ = {"PULSARCTL_SERVICE_URL": urls["service_url"]}
        ended = run(tmp_path, "produce", "t", environ=environ, stdin=b"x" * 2000)
        assert ended.exit_code == 1 and "line 1 of stdin: its 2000 bytes exceed" in ended.stderr
        assert stop(program) == 0


def test_data_of_another_cluster_is_refused_with_the_name_to_use(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path / "data", config=config_of("west")):
        pass
    ended = run(tmp_path, "standalone", "--data-dir", "data", *FREE)
    assert ended.exit_code == 2 and "start with -X clusterName=west" in ended.stderr


def test_an_unknown_setting_is_a_usage_error(tmp_path: Path) -> None:
    ended = run(tmp_path, "standalone", "-X", "maxMesageSize=1")
    assert ended.exit_code == 2
    assert "maxMessageSize" in ended.stderr, "the near name is suggested"


def test_a_configuration_file_of_apache_pulsar_is_read_unchanged(tmp_path: Path) -> None:
    conf = tmp_path / "standalone.conf"
    conf.write_text("brokerServicePort=0\nwebServicePort=0\nzookeeperServers=\nmanagedLedgerDefaultEnsembleSize=1\n")
    with Program(tmp_path, "standalone", "-c", str(conf), "--data-dir", "d", "--print-urls", "json") as program:
        assert json.loads(program.read_lines(1)[0])["pid"] == program.pid
        assert stop(program) == 0
    assert b"managedLedgerDefaultEnsembleSize" in program.stderr


def test_flags_of_apache_pulsar_are_accepted(tmp_path: Path) -> None:
    words = ["-nfw", "-nss", "--bookkeeper-dir", "b", "--zookeeper-dir", "z", "--num-bookies", "1", "--only-broker"]
    with standalone(tmp_path, "--metadata-dir", "meta", *words) as (program, urls):
        assert urls["data_dir"] == str(tmp_path / "meta")
        assert stop(program) == 0
    assert b"the bundled broker has no bookies" in program.stderr


def test_no_broker_leaves_nothing_to_run(tmp_path: Path) -> None:
    assert run(tmp_path, "standalone", "--no-broker").exit_code == 2


def test_standalone_refuses_embedded(tmp_path: Path) -> None:
    ended = run(tmp_path, "--embedded", str(tmp_path / "data"), "standalone")
    assert (ended.exit_code, ended.stderr.splitlines()[-1]) == (2, "hint: pulsarctl standalone --data-dir DIR")


def test_the_log_can_be_json(tmp_path: Path) -> None:
    with standalone(tmp_path, "--data-dir", "d", "--log-format", "json", "--log-level", "debug") as (program, _urls):
        assert stop(program) == 0
    lines = [line for line in program.stderr.splitlines() if line.startswith(b"{")]
    assert lines and all({"time", "level", "logger", "message"} <= set(json.loads(line)) for line in lines)


def test_data_survives_kill_9(tmp_path: Path) -> None:
    with standalone(tmp_path, "--data-dir", "data") as (program, urls):
        environ = {"PULSARCTL_SERVICE_URL": urls["service_url"]}
        assert run(tmp_path, "produce", "t", "-m", "kept", environ=environ).exit_code == 0
        program.send(signal.SIGKILL)
        assert program.finish() == -signal.SIGKILL
    with standalone(tmp_path, "--data-dir", "data") as (program, urls):
        environ = {"PULSARCTL_SERVICE_URL": urls["service_url"]}
        assert run(tmp_path, "read", "t", "-m", "earliest", "-F", "%v", environ=environ).stdout == b"kept"
        assert stop(program) == 0


def test_ctrl_c_stops_standalone_cleanly(tmp_path: Path) -> None:
    with standalone(tmp_path, "--data-dir", "data") as (program, _urls):
        program.send(signal.SIGINT)
        assert program.finish() == 0
    assert not (tmp_path / "data" / "owner.json").exists()


def test_tls_auto_prints_the_options_that_a_client_needs(tmp_path: Path) -> None:
    with standalone(tmp_path, "--data-dir", "data", "--tls", "auto") as (program, urls):
        authority = str(tmp_path / "data" / "tls" / "ca.pem")
        options = ["--admin-url", urls["http_url_tls"], "--url", urls["service_url_tls"], "--tls-trust-cert", authority]
        assert run(tmp_path, "produce", "t", "-m", "x", *options).exit_code == 0
        assert run(tmp_path, "topics", "list", "public/default", *options).exit_code == 0
        assert run(tmp_path, "read", "t", "-m", "earliest", "-n", "1", *options).exit_code == 0
        assert stop(program) == 0
    assert f"\nfor TLS: {' '.join(options)}\n".encode() in program.stderr


def test_tls_knows_no_other_word_than_auto(tmp_path: Path) -> None:
    ended = run(tmp_path, "standalone", "--data-dir", "data", *FREE, "--tls", "on")
    assert (ended.exit_code, "unknown value 'on' of --tls" in ended.stderr) == (2, True)
    assert not (tmp_path / "data").exists()
