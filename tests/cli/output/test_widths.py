"""What the pages about a state show on narrow and wide terminals: everything, and no line that is cut."""

import re
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.drawn import Drawn
from tests.support.runner import Cli

SIZES = [(24, 80), (24, 120)]
COLOR = re.compile(r"\x1b\[[0-9;]*m")
TO_COPY = re.compile(r" +pulsarctl ")  # a command stays on one line


class Place(NamedTuple):
    """A topic with long names, whose subscription has a backlog; `file` is a declared state with other values."""

    topic: str
    subscription: str
    file: str

    @property
    def namespace(self) -> str:
        return self.topic.rpartition("/")[0]


@pytest.fixture
def place(cli: Cli, tmp_path: Path) -> Iterator[Place]:
    namespace = f"public/shop-of-northern-europe-{secrets.token_hex(4)}"
    file = tmp_path / "state.yaml"
    place = Place(f"{namespace}/orders-of-registered-customers", "billing-and-accounting-department", str(file))
    cli("namespaces", "create", namespace)
    cli("namespaces", "set-retention", namespace, "-t", "7d", "-s", "10G")
    cli("topics", "create", place.topic)
    cli("topics", "create-subscription", place.topic, "-s", place.subscription)
    cli("produce", place.topic, "-m", "x")
    retention = "{retentionTimeInMinutes: 1440, retentionSizeInMB: 10240}"
    file.write_text(f"namespaces:\n  {namespace}: {{policies: {{retention: {retention}}}}}\n", "utf-8")
    yield place
    cli("namespaces", "delete", namespace, "--force", "--yes")


@pytest.fixture(params=SIZES, ids=lambda size: f"{size[1]} columns")
def shown(
    request: pytest.FixtureRequest, cli: Cli, place: Place, tmp_path: Path
) -> Callable[..., tuple[list[str], int]]:
    """The lines that a command writes to a terminal, and the columns of that terminal."""

    def shown(*words: str) -> tuple[list[str], int]:
        with Drawn(tmp_path, *words, environ=cli.environ, size=request.param) as screen:
            screen.finish()
            assert not COLOR.search(screen.raw), "NO_COLOR is set"
            is_full_screen = "\x1b[?1049h" in screen.raw
            return (screen.frame if is_full_screen else screen.text.split("\n")), request.param[1]

    return shown


@pytest.mark.parametrize("command", ["explain", "describe", "doctor"])
def test_sentences_are_wrapped_and_names_are_whole(
    command: str, place: Place, shown: Callable[..., tuple[list[str], int]]
) -> None:
    words = {
        "explain": ["explain", place.topic],
        "describe": ["describe", "subscription", place.topic, place.subscription],
        "doctor": ["doctor", "-n", place.namespace],
    }
    lines, columns = shown(*words[command])
    sentences = [line for line in lines if not TO_COPY.match(line) and place.topic not in line]
    assert max(map(len, sentences)) <= columns
    text = "\n".join(lines)
    assert place.topic in text and place.subscription in text and "…" not in text


def test_check_prints_one_whole_line(place: Place, shown: Callable[..., tuple[list[str], int]]) -> None:
    lines, _ = shown("check", "backlog", place.topic, "-c", "0")
    name = f"{place.topic}/{place.subscription}"
    assert lines == [f"BACKLOG CRITICAL - {name} has 1 message | '{place.subscription}'=1;;0;0", ""]


def test_diff_prints_a_whole_line_for_each_member(place: Place, shown: Callable[..., tuple[list[str], int]]) -> None:
    lines, columns = shown("diff", "-f", place.file)
    assert "      ~ policies.retention.retentionTimeInMinutes  7d -> 1d" in lines
    assert max(map(len, lines)) <= columns


def test_top_shows_names_in_several_lines_and_all_keys(
    place: Place, shown: Callable[..., tuple[list[str], int]]
) -> None:
    lines, columns = shown("top", "subscriptions", "-n", "1", "--namespace", place.namespace)
    assert max(map(len, lines)) <= columns
    heading = next(index for index, line in enumerate(lines) if line.startswith("TOPIC"))
    second, third = lines[heading].index("SUBSCRIPTION"), lines[heading].index("HEALTH")
    rows = lines[heading + 1 :]
    assert "".join(line[:second].strip() for line in rows).startswith(place.topic.rpartition("/")[2])
    assert "".join(line[second:third].strip() for line in rows).startswith(place.subscription)
    assert rows[0][third:].split()[0] == "problem" and "BACKLOG *" in lines[heading]
    assert "up/down scroll" in lines[-1] and place.namespace in "\n".join(lines[:heading])
