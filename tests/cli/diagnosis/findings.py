"""Findings of the program, by the code of each rule."""

import json
from typing import Any

from tests.support.condition import wait_until
from tests.support.runner import Cli

DEADLINE_SECONDS = 15.0

Document = dict[str, Any]


def findings(cli: Cli, *words: str) -> dict[str, Document]:
    """What `-o json` prints, by code."""
    result = cli(*words, "-o", "json")
    return {one["code"]: one for one in json.loads(result.stdout)}


def eventually(cli: Cli, code: str, *words: str) -> Document:
    """The finding, as soon as the broker is in that state."""
    found: dict[str, Document] = {}

    def is_found() -> bool:
        found.update(findings(cli, *words))
        return code in found

    wait_until(is_found, DEADLINE_SECONDS)
    return found[code]
