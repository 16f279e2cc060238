"""Each message in docs/how-to/troubleshooting.md is one that the program has."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "troubleshooting.md"
FROM_TYPER = "No such command"


def test_the_program_has_every_message_of_the_page() -> None:
    messages = re.findall(r"^\| `([^`]+)` \|", PAGE.read_text("utf-8"), re.MULTILINE)
    assert len(messages) > 10
    sources = [path.read_text("utf-8") for folder in ("broker_core", "cli") for path in (ROOT / folder).rglob("*.py")]
    missing = [one for one in messages if one != FROM_TYPER and not any(one in source for source in sources)]
    assert missing == []
