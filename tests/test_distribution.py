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


@pytest.mark.parametrize(("scope", "processes"), [("module", 2), ("session", 1)])
def test_a_shared_fixture_starts_once(tmp_path: Path, scope: str, processes: int) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST.format(scope=scope))
    for name in ("test_first.py", "test_second.py"):
        (tmp_path / name).write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "xdist.plugin", "-p", "tests.distribution"]
    plugins = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # the others take seconds to import
    done = subprocess.run(
        [*command, "-q", "-n", "2", "--dist", "loadfile", "."],
        cwd=tmp_path,
        env=os.environ | plugins,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert "8 passed" in done.stdout, done.stdout + done.stderr
    starts = (tmp_path / "starts").read_text().split()
    assert (len(starts), len(set(starts))) == (processes, processes)


def test_the_collector_leaves_alone_what_lives_until_the_end() -> None:
    assert gc.isenabled()
    assert gc.get_freeze_count() > 100_000


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


def test_make_uses_this_distribution() -> None:
    assert (ROOT / "Makefile").read_text().count("-n 2 --dist loadfile") == 3
