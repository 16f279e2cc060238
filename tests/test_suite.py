"""Rules for the tests themselves: CONTRIBUTING.md, "Tests", says why."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# Where time itself is the subject, so that no condition can end the wait.
SLEEPS = {
    "tests/abuse/client.py": "paces the load",
    "tests/abuse/crowd.py": "samples for a given time",
    "tests/abuse/http_table.py": "a client that holds its connections open",
    "tests/abuse/probed_broker.py": "samples the stack at intervals",
    "tests/abuse/run.py": "samples memory and stalls for a given time",
    "tests/bench/bounds.py": "measures the CPU time of a second",
    "tests/bench/load.py": "paces the load",
    "tests/bench/proxy_clients.py": "paces the load",
    "tests/bench/rest.py": "measures a broker that has nothing to do",
    "tests/bench/throttled_broker.py": "a slow disk",
    "tests/broker_core/dispatch/test_failover.py": "a slow journal",
    "tests/broker_core/storage/faulty_disk.py": "a slow disk",
    "tests/broker_core/storage/test_waiting.py": "counts the turns of the event loop while the disk is slow",
    "tests/broker_core/test_longest_turns.py": "must not fill the event loop that it measures",
    "tests/soak/broker_events.py": "samples the journal for a given time",
    "tests/soak/rounds.py": "kills the broker at a random moment of its recovery",
    "tests/soak/writer.py": "paces the load",
    "tests/soak_messaging/compaction.py": "kills the broker at a random moment; lets another compaction end",
    "tests/soak_messaging/dedup.py": "kills the broker at a random moment of its recovery",
    "tests/soak_messaging/delayed.py": "kills the broker at a random moment of its recovery",
    "tests/soak_messaging/order.py": "moves consumers at random times",
    "tests/soak_messaging/rebalance.py": "paces the load",
    "tests/spark/test_stream_kills.py": "kills at random moments",
}


@cache  # not a constant: every process of a run imports this module, and one of them needs the trees
def trees() -> dict[str, ast.Module]:
    paths = sorted(TESTS.rglob("*.py"))
    return {path.relative_to(TESTS.parent).as_posix(): ast.parse(path.read_text()) for path in paths}


def imported(tree: ast.Module) -> Iterator[str]:
    """The full names of the modules that a module may import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_in_a_test_module(name: str) -> bool:
    """Whether the name is that of a test module or of something in it."""
    path = TESTS.parent
    for part in name.split("."):
        path /= part
        if part.startswith("test_") and path.with_suffix(".py").is_file():
            return True
    return False


def test_no_module_imports_from_a_test_module() -> None:
    found = [
        f"{path}: {name}" for path, tree in trees().items() for name in imported(tree) if is_in_a_test_module(name)
    ]
    assert not found, "move what tests share to a module that is named after its concept"


def test_an_import_from_a_test_module_is_recognized() -> None:
    assert is_in_a_test_module("tests.test_suite.SLEEPS")
    assert is_in_a_test_module("tests.broker_core.test_names")
    assert not is_in_a_test_module("tests.condition.wait_until")


def sleeps(tree: ast.Module) -> bool:
    """Whether a module waits for time to pass. `asyncio.sleep(0)` is a turn of the event loop and waits for none."""
    return any(
        isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("time.sleep", "sleep", "asyncio.sleep", "threading.Event().wait")
        and not (len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0)
        for node in ast.walk(tree)
    )


def test_no_module_sleeps_unless_time_is_its_subject() -> None:
    found = {path for path, tree in trees().items() if sleeps(tree)}
    assert found - set(SLEEPS) == set(), "use tests/condition.py, or move the clock (tests/clocks.py)"
    assert set(SLEEPS) - found == set(), "these no longer sleep: delete them here"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("time.sleep(0.1)", True),
        ("asyncio.sleep(SECONDS)", True),
        ("threading.Event().wait(1)", True),
        ("asyncio.sleep(0)", False),
        ("stopped.wait(1)", False),
    ],
)
def test_a_sleep_is_recognized(code: str, found: bool) -> None:
    assert sleeps(ast.parse(code)) is found


@pytest.mark.parametrize(("tests", "code"), [("tests/cli", "cli/pulsarctl"), ("tests/broker_core", "broker_core")])
def test_tests_mirror_the_packages(tests: str, code: str) -> None:
    folders = {path.parent.name for path in (TESTS.parent / tests).glob("*/__init__.py")}
    packages = {path.parent.name for path in (TESTS.parent / code).glob("*/__init__.py")}
    assert len(folders) > 10
    assert folders - packages == set(), "a folder of tests has the name of the package that it tests"
