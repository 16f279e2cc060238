"""How a Spark job starts and ends on a local master: class archive, stderr, and what an interrupted job leaves."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from pulsarctl.spark.class_archive import class_archive
from pulsarctl.spark.java import Java
from pulsarctl.spark.session import log_options
from tests.cli.spark.processes import MARK, marked, needs_proc
from tests.support.condition import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow]

DEADLINE_SECONDS = 200  # a training run takes a busy machine long
JOB = """
from pulsarctl.spark.session import spark_context
with spark_context("test", "local[1]", short=True, tell=lambda text: print(text, flush=True)) as context:
    print(context.parallelize(range(4), 2).map(lambda number: number * number).collect(), flush=True)
"""
UNTRAINABLE = f"""{JOB}
    context.stop()
"""
FAILING = """
from py4j.protocol import Py4JError
from pulsarctl.spark.session import spark_context
def fail(number):
    raise ValueError("no such day")
with spark_context("test", "local[1]", short=True, traces={traces}) as context:
    try:
        context.parallelize(range(1), 1).map(fail).collect()
    except Py4JError:
        pass
"""
ENDLESS = """
import time
from pulsarctl.spark.session import spark_context
with spark_context("test", "local[1]", short=True) as context:
    print("started", flush=True)
    context.parallelize(range(1), 1).map(lambda number: time.sleep(3600)).collect()
"""


def job(text: str, tmp_path: Path, **environment: str) -> "subprocess.Popen[str]":
    (tmp_path / "scratch").mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-c", text],
        env=os.environ | {"TMPDIR": str(tmp_path / "scratch"), MARK: str(tmp_path)} | environment,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("traces", [False, True])
def test_the_traces_of_a_failed_task_are_printed_on_request_only(traces: bool, tmp_path: Path) -> None:
    _, errors = job(FAILING.format(traces=traces), tmp_path).communicate(timeout=DEADLINE_SECONDS)
    assert ("ValueError: no such day" in errors) == traces
    assert ("\tat org.apache.spark" in errors) == traces
    assert traces or errors == ""
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.parametrize(("level", "shown"), [("error", False), ("warn", True), ("info", True), ("debug", True)])
def test_a_log_level_with_warnings_has_those_of_tasks(level: str, shown: bool) -> None:
    assert (f"-Dpulsarctl.log.tasks={level}" in log_options(level, traces=False)) == shown


@pytest.mark.timeout(3 * DEADLINE_SECONDS)
def test_the_first_job_of_an_installation_writes_the_archive_that_the_next_one_uses(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = job(JOB, tmp_path, XDG_CACHE_HOME=str(cache)).communicate(timeout=DEADLINE_SECONDS)
    (archive,) = (cache / "pulsarctl").glob("spark-*")
    written = archive.stat().st_mtime_ns
    second = job(JOB, tmp_path, XDG_CACHE_HOME=str(cache)).communicate(timeout=DEADLINE_SECONDS)
    assert archive.stat().st_mtime_ns == written
    training = "preparing faster starts of Spark, once for this installation (Ctrl-C skips it)\n"
    assert first == ("[0, 1, 4, 9]\n" + training, "")
    assert second == ("[0, 1, 4, 9]\n", "")


def test_a_training_run_that_fails_is_a_warning_of_the_finished_job(tmp_path: Path) -> None:
    process = job(UNTRAINABLE, tmp_path, XDG_CACHE_HOME=str(tmp_path / "cache"))
    output, errors = process.communicate(timeout=DEADLINE_SECONDS)
    assert (process.returncode, output.partition("\n")[0]) == (0, "[0, 1, 4, 9]")
    assert errors.startswith("warning: cannot prepare faster starts of Spark: ")
    assert errors.count("\n") == 1
    assert list((tmp_path / "cache" / "pulsarctl").iterdir()) == [], "a later job tries again"


@needs_proc
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
def test_a_job_that_is_ended_leaves_no_process(number: signal.Signals, tmp_path: Path) -> None:
    process = job(ENDLESS, tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    wait_until(lambda: any("worker_daemon" in line for line in marked(str(tmp_path))), seconds=60)
    process.send_signal(number)
    process.communicate(timeout=60)
    wait_until(lambda: not marked(str(tmp_path)), seconds=60)
    if number == signal.SIGINT:
        assert list((tmp_path / "scratch").iterdir()) == []


def test_only_one_of_the_jobs_that_start_together_trains(tmp_path: Path) -> None:
    java = Java(machine_java(tmp_path), 17, "JAVA_HOME")
    first = class_archive(java, tmp_path, tmp_path / "cache")
    assert first is not None
    assert first.is_training
    assert class_archive(java, tmp_path, tmp_path / "cache") is None
    first.discard()
    again = class_archive(java, tmp_path, tmp_path / "cache")
    assert again is not None
    assert again.is_training


def test_the_lock_of_a_session_that_was_killed_is_taken_over(tmp_path: Path) -> None:
    java = Java(machine_java(tmp_path), 17, "JAVA_HOME")
    killed = class_archive(java, tmp_path, tmp_path / "cache")
    assert killed is not None
    assert killed.lock is not None
    os.utime(killed.lock, (0, 0))
    assert class_archive(java, tmp_path, tmp_path / "cache") is not None


def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert class_archive(Java(machine_java(tmp_path), 17, "JAVA_HOME"), tmp_path, tmp_path / "file") is None


def test_a_lock_that_cannot_be_removed_is_no_failure(tmp_path: Path) -> None:
    archive = class_archive(Java(machine_java(tmp_path), 17, "JAVA_HOME"), tmp_path, tmp_path / "cache")
    assert archive is not None
    assert archive.lock is not None
    archive.lock.unlink()
    archive.lock.mkdir()
    archive.discard()


def machine_java(directory: Path) -> Path:
    home = directory / "java"
    (home / "lib" / "server").mkdir(parents=True, exist_ok=True)
    (home / "lib" / "server" / "classes.jsa").touch()
    (home / "release").write_text('JAVA_VERSION="17.0.1"\n')
    return home
