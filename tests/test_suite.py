"""Rules for the tests themselves: CONTRIBUTING.md, "Tests", says why."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# Where time itself is the subject, so that no condition can end the wait.
SLEEPS = {
    "tests/long/abuse/client.py": "paces the load",
    "tests/long/abuse/crowd.py": "samples for a given time",
    "tests/long/abuse/http_table.py": "a client that holds its connections open",
    "tests/long/abuse/probed_broker.py": "samples the stacks at intervals",
    "tests/long/abuse/run.py": "samples memory and stalls for a given time",
    "tests/long/bench/bounds.py": "measures the CPU time of a second",
    "tests/long/bench/load.py": "paces the load",
    "tests/long/bench/proxy_clients.py": "paces the load",
    "tests/long/bench/rest.py": "measures a broker that has nothing to do",
    "tests/long/bench/throttled_broker.py": "a slow disk",
    "tests/broker/dispatch/test_failover.py": "a slow journal",
    "tests/broker/server/test_longest_iterations.py": "must not fill the event loop that it measures",
    "tests/support/condition.py": "waits for conditions that have no event",
    "tests/support/faulty_disk.py": "a slow disk",
    "tests/unit/broker_core/storage/test_engine_waiting.py": "counts the turns of the loop while the disk is slow",
    "tests/long/soak/broker_events.py": "samples the journal for a given time",
    "tests/long/soak/rounds.py": "kills the broker at a random moment of its recovery",
    "tests/long/soak/writer.py": "paces the load",
    "tests/long/soak_messaging/compaction.py": "kills the broker at a random moment; lets another compaction end",
    "tests/long/soak_messaging/dedup.py": "kills the broker at a random moment of its recovery",
    "tests/long/soak_messaging/delayed.py": "kills the broker at a random moment of its recovery",
    "tests/long/soak_messaging/order.py": "moves consumers at random times",
    "tests/long/soak_messaging/rebalance.py": "paces the load",
    "tests/long/soak_messaging/transactions.py": "kills the broker at random moments",
    "tests/long/soak_scalable/__main__.py": "waits for consumers, and for a broker that is being restarted",
    "tests/long/soak_scalable/publisher.py": "waits for a broker that is being restarted",
    "tests/cli/spark/test_stream_kills.py": "kills at random moments",
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


@cache
def modules_of_tests() -> set[str]:
    paths = (path.relative_to(TESTS.parent) for path in TESTS.rglob("test_*.py"))
    return {path.with_suffix("").as_posix().replace("/", ".") for path in paths}


def is_in_a_test_module(name: str) -> bool:
    """Whether the name is that of a test module or of something in it."""
    return name in modules_of_tests() or name.rpartition(".")[0] in modules_of_tests()


def test_no_module_imports_from_a_test_module() -> None:
    found = [
        f"{path}: {name}" for path, tree in trees().items() for name in imported(tree) if is_in_a_test_module(name)
    ]
    assert not found, "move what tests share to a module that is named after its concept"


def test_an_import_from_a_test_module_is_recognized() -> None:
    assert is_in_a_test_module("tests.test_suite.SLEEPS")
    assert is_in_a_test_module("tests.unit.broker_core.test_names")
    assert not is_in_a_test_module("tests.support.condition.wait_until")


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
    assert found - set(SLEEPS) == set(), "use tests/support/condition.py, or move the clock (tests/support/clocks.py)"
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


PACKAGES = {"broker_core": "broker_core", "pulsarctl": "cli/pulsarctl"}  # below tests/unit, and in the repository
PROGRAMS = {"tests/broker": "broker_core", "tests/cli": "cli/pulsarctl"}
BROKERS = ("broker_core.broker.", "broker_core.server.server.", "broker_core.testing.", "tests.support.broker_process.")
# Folders that test no package.
EXAMPLES = {"tests/cli/examples"}
# Packages whose tests stand elsewhere.
ELSEWHERE = {
    "broker_core/backlog": "tests/cli/backlog",
    "broker_core/broker_client": "tests/broker/replication",
    "broker_core/stats": "tests/broker/admin",
}


def modules_under_test(test: Path) -> list[Path]:
    """The modules and packages that a unit test may be about: `test_log_x.py` is about `log.py` or `log_x.py`."""
    package, *below = test.relative_to(TESTS / "unit").parent.parts
    words = test.stem.removeprefix("test_").split("_")
    names = ["_".join(words[: count + 1]) for count in range(len(words))]
    folder = TESTS.parent.joinpath(PACKAGES[package], *below)
    return [path for name in names for path in (folder / f"{name}.py", folder / name) if path.exists()]


def test_a_unit_test_is_named_after_the_module_that_it_tests() -> None:
    tests = [*(TESTS / "unit").rglob("test_*.py")]
    assert len(tests) > 100
    assert [test for test in tests if not modules_under_test(test)] == []


def test_unit_tests_start_no_broker() -> None:
    units = {path: tree for path, tree in trees().items() if path.startswith("tests/unit/")}
    assert [path for path, tree in units.items() for name in imported(tree) if name.startswith(BROKERS)] == []


@pytest.mark.parametrize(("tests", "code"), PROGRAMS.items())
def test_a_folder_of_tests_is_named_after_a_package(tests: str, code: str) -> None:
    folders = [file.parent for file in (TESTS.parent / tests).rglob("__init__.py")]
    assert len(folders) > 10
    strays = {
        folder.relative_to(TESTS.parent).as_posix()
        for folder in folders
        if not (TESTS.parent / code / folder.relative_to(TESTS.parent / tests)).is_dir()
    }
    assert strays == EXAMPLES & strays


@pytest.mark.parametrize(("tests", "code"), PROGRAMS.items())
def test_each_package_has_a_folder_of_tests(tests: str, code: str) -> None:
    packages = {file.parent for file in (TESTS.parent / code).glob("*/__init__.py")}
    unit = TESTS / "unit" / Path(code).name
    untested = {
        package.relative_to(TESTS.parent).as_posix()
        for package in packages
        if not (TESTS.parent / tests / package.name).is_dir() and not (unit / package.name).is_dir()
    }
    assert untested - set(ELSEWHERE) == set()
    assert all((TESTS.parent / folder).is_dir() for folder in ELSEWHERE.values())
