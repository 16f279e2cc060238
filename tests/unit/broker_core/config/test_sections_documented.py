"""What the pages in docs/ say about configuration keys matches the configuration."""

import re
from collections.abc import Iterator
from pathlib import Path

from broker_core.config.broker import BrokerConfig
from broker_core.config.proxy import ProxyConfig
from broker_core.config.sections import Sections
from broker_core.config.setting import Setting

DOCS = Path(__file__).parents[4] / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if page.parent.name not in ("commands", "configuration"))
KEY = re.compile(r"`([a-z]+[A-Z]\w*)`")


def settings(config: Sections) -> Iterator[Setting]:
    for _, field, _ in config.settings():
        yield from (value for value in field.metadata.values() if isinstance(value, Setting))


SETTINGS = {setting.key: setting for config in (BrokerConfig(), ProxyConfig()) for setting in settings(config)}
KEYS = set(SETTINGS)
NUMBER = re.compile(r"(\d(?:[\d,]*\d)?)(?: (KB|MB|s|minutes)\b)?")
UNITS = {"": (1,), "KB": (1 << 10,), "MB": (1 << 20,), "s": (1, 1000), "minutes": (1, 60, 60_000)}  # of the keys
IN_A_SENTENCE = re.compile(r"((?:`[a-z]+[A-Z]\w*`(?:, )?)+) \((\d[^)]*)\)")


def cells_of_keys(page: str) -> Iterator[tuple[str, str]]:
    """The cells in the columns `Setting` and `Key` of the tables of a page, each with that of the column `Default`."""
    column: int | None = None
    default = 0
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            column = None
        elif column is None:
            column = next((at for at, cell in enumerate(cells) if cell in ("Setting", "Key")), len(cells))
            default = cells.index("Default") if "Default" in cells else len(cells)
        elif column < len(cells):
            yield cells[column], cells[default] if default < len(cells) else ""


def keys_in_tables(page: str) -> Iterator[str]:
    for cell, _ in cells_of_keys(page):
        yield from KEY.findall(cell)


def numbers_said(page: str) -> Iterator[tuple[str, str, str]]:
    """Each key that is followed by its default, as a number, with the unit: in a table, or in parentheses."""
    for keys, said in [*cells_of_keys(page), *IN_A_SENTENCE.findall(page)]:
        numbers = NUMBER.findall(said)
        names = KEY.findall(keys)
        for at, name in enumerate(names):
            if numbers and name in SETTINGS and isinstance(SETTINGS[name].default, int | float):
                yield name, *numbers[at if len(numbers) >= len(names) else 0]


def test_the_columns_of_settings_are_found() -> None:
    assert {"brokerDeduplicationEntriesInterval", "maxNameLength", "consoleEnabled"} <= {
        key for page in PAGES for key in keys_in_tables(page.read_text("utf-8"))
    }


def test_every_key_in_a_table_of_settings_exists() -> None:
    for page in PAGES:
        assert set(keys_in_tables(page.read_text("utf-8"))) - KEYS == set(), page


def test_every_number_after_a_key_is_its_default() -> None:
    said = [(page.name, *number) for page in PAGES for number in numbers_said(page.read_text("utf-8"))]
    wrong = [
        (page, name, number, SETTINGS[name].file_default)
        for page, name, number, unit in said
        if SETTINGS[name].file_default not in [int(number.replace(",", "")) * factor for factor in UNITS[unit]]
    ]
    assert wrong == []
    assert {"limits.md", "hardening.md", "proxy.md"} <= {page for page, *_ in said}, "the patterns find defaults"


def test_the_page_on_compatibility_counts_the_dynamic_settings() -> None:
    count = sum(setting.dynamic for setting in settings(BrokerConfig()))
    assert f"| dynamic configuration | {count} of Pulsar's keys;" in (
        DOCS / "reference" / "compatibility.md"
    ).read_text("utf-8")
