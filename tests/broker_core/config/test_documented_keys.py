"""What the pages in docs/ say about configuration keys matches the configuration."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.proxy import ProxyConfig
from broker_core.config.sections import Sections
from broker_core.config.setting import Setting

DOCS = Path(__file__).parents[3] / "docs"
PAGES = sorted(page for page in DOCS.glob("*.md") if page.name != "cli.md")
KEY = re.compile(r"`([a-z]+[A-Z]\w*)`")


def settings(config: Sections) -> Iterator[Setting]:
    for _, field, _ in config.settings():
        yield from (value for value in field.metadata.values() if isinstance(value, Setting))


KEYS = {setting.key for config in (BrokerConfig(), ProxyConfig()) for setting in settings(config)}


def keys_in_tables(page: str) -> Iterator[str]:
    """The names in the columns `Setting` and `Key` of the tables of a page."""
    column = None
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            column = None
        elif column is None:
            column = next((at for at, cell in enumerate(cells) if cell in ("Setting", "Key")), len(cells))
        elif column < len(cells):
            yield from KEY.findall(cells[column])


def test_the_columns_of_settings_are_found() -> None:
    assert {"brokerDeduplicationEntriesInterval", "maxNameLength", "consoleEnabled"} <= {
        key for page in PAGES for key in keys_in_tables(page.read_text("utf-8"))
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_key_in_a_table_of_settings_exists(page: Path) -> None:
    assert set(keys_in_tables(page.read_text("utf-8"))) - KEYS == set()


def test_the_page_on_compatibility_counts_the_dynamic_settings() -> None:
    count = sum(setting.dynamic for setting in settings(BrokerConfig()))
    assert f"| dynamic configuration | {count} of Pulsar's keys;" in (DOCS / "compatibility.md").read_text("utf-8")
