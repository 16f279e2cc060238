"""How `make test` divides the tests among its processes: file by file, so that what a module shares starts once.

A directory whose `conftest.py` has a fixture for a session or a package stays in one process: a second Apache Pulsar or
Spark session costs more than it saves. These directories take longest, so they come first, and files with slow tests
next: at the end, no process waits for the other.

Marks of pytest-xdist would say the same, but pytest 9.2 ignores them without a warning (pytest-xdist issue 1386).
"""

import re
from functools import cache
from pathlib import Path

import pytest
from xdist.scheduler.loadscope import LoadScopeScheduling

_WIDE = re.compile(r'scope="(session|package)"')


class Distribution(LoadScopeScheduling):  # type: ignore[misc]  # pytest-xdist ships no types
    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid, self.config.rootpath)


def unit_of(nodeid: str, root: Path) -> str:
    """The file of a test, or the topmost directory around it that shares a fixture."""
    file = nodeid.partition("::")[0]
    sharing = [folder.as_posix() for folder in Path(file).parents if _shares(root / folder)]
    return sharing[-1] if sharing else file


@cache
def _shares(folder: Path) -> bool:
    conftest = folder / "conftest.py"
    return conftest.is_file() and _WIDE.search(conftest.read_text()) is not None


@pytest.hookimpl(optionalhook=True)  # unknown without pytest-xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling | None:
    if config.getvalue("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False  # files with many tests are not those that take long
    return Distribution(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not hasattr(config, "workerinput"):
        return
    units = {item: unit_of(item.nodeid, config.rootpath) for item in items}
    slow = {unit for item, unit in units.items() if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (units[item].endswith(".py"), units[item] not in slow))
