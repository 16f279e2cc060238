"""What tests share starts once, although several processes run them."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CONFTEST = """
import os, pathlib, pytest

@pytest.fixture(scope="{scope}")
def shared():
    with pathlib.Path(__file__).with_name("starts").open("a") as starts:
        starts.write(f"{{os.getpid()}}\\n")
"""
TESTS = """
import pytest

@pytest.mark.parametrize("text", ["a::b", "c]@d", "e/f", "g"])
def test_one(shared, text):
    pass
"""


def run(directory: Path, *options: str) -> str:
    """What pytest prints about the tests of a directory."""
    plugins = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # the others take seconds to import
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "xdist.plugin",
            "-p",
            "tests.support.distribution",
            "--dist",
            "loadfile",
            *options,
        ],
        cwd=directory,
        env=os.environ | plugins,
        capture_output=True,
        text=True,
        timeout=100,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize(("scope", "processes"), [("module", 2), ("session", 1)])
def test_a_shared_fixture_starts_once(tmp_path: Path, scope: str, processes: int) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST.format(scope=scope))
    for name in ("test_first.py", "test_second.py"):
        (tmp_path / name).write_text(TESTS)
    done = run(tmp_path, "-n", "2", "-q")
    assert "8 passed" in done, done
    starts = (tmp_path / "starts").read_text().split()
    assert (len(starts), len(set(starts))) == (processes, processes)


def test_files_with_slow_tests_come_first(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow: takes long\n")
    (tmp_path / "test_first.py").write_text("def test_a(): pass\n")
    (tmp_path / "test_last.py").write_text("import pytest\n@pytest.mark.slow\ndef test_z(): pass\ndef test_y(): pass\n")
    done = run(tmp_path, "-n", "1", "-v")
    order = [line.partition("::")[2].split()[0] for line in done.splitlines() if "PASSED" in line]
    assert order == ["test_z", "test_y", "test_a"], done


def test_the_collector_leaves_alone_what_lives_until_the_end() -> None:
    assert gc.isenabled()
    assert gc.get_freeze_count() > 10_000  # a Python that has just started has frozen none


def test_make_lets_processes_keep_compiled_modules() -> None:
    shown = 'echo "value: <$$PYTHONDONTWRITEBYTECODE>"; true'
    done = subprocess.run(
        ["make", "--no-print-directory", "-C", str(ROOT), "-o", ".venv/.installed", "test", f"PY={shown}"],
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.stdout == "value: <>\n", done.stdout + done.stderr
