"""The commit that this program was installed from, as pip records it (PEP 610)."""

from __future__ import annotations

import json
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution


def commit_in(record: str | None) -> str:
    """`record`: the text of `direct_url.json`. "unknown" for what was not installed from a repository."""
    source = json.loads(record) if record else {}
    return str(source.get("vcs_info", {}).get("commit_id", "unknown"))


@cache
def installed_commit() -> str:
    try:
        return commit_in(distribution("pulsarctl").read_text("direct_url.json"))
    except PackageNotFoundError:
        return "unknown"
