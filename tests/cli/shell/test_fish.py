"""The completion script of fish, in a real fish."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.runner import Cli

PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # the `pulsarctl` of this environment
SCRIPT = Path(__file__).parents[3] / "completions" / "pulsarctl.fish"
BYTES_MAX = 150_000

fish = pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")


def completed(*lines: str, home: Path, url: str | None = None) -> list[list[str]]:
    """The words that fish offers for each line."""
    asked = "; ".join(f"echo =; complete -C '{line}'" for line in lines)
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source {SCRIPT}; {asked}"],
        env={**os.environ, "PATH": PATH, "HOME": str(home), **({"PULSARCTL_ADMIN_URL": url} if url else {})},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    return [[row.split("\t")[0] for row in part.splitlines() if row] for part in done.stdout.split("=\n")[1:]]


def test_the_script_is_small() -> None:
    assert SCRIPT.stat().st_size < BYTES_MAX


@fish
def test_commands_options_and_formats_are_completed(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").touch()
    noun, verb, own, shared, formats, file = completed(
        "pulsarctl tena",
        "pulsarctl topics create-",
        "pulsarctl topics set-retention t --si",
        "pulsarctl topics list public/default --admin",
        "pulsarctl tenants list -o json",
        f"pulsarctl produce t --lines {tmp_path}/li",
        home=tmp_path,
    )
    assert noun == ["tenants"]
    assert verb == ["create-missed-partitions", "create-partitioned", "create-shadow-topic", "create-subscription"]
    assert own == ["--size"]
    assert shared == ["--admin-url"]
    assert formats == ["json", "jsonl"]
    assert file == [f"{tmp_path}/lines.txt"]


@fish
def test_names_come_from_the_broker(cli: Cli, tmp_path: Path) -> None:
    url = str(cli.environ["PULSARCTL_ADMIN_URL"])
    assert completed("pulsarctl tenants get pub", home=tmp_path, url=url) == [["public"]]


@fish
def test_completion_is_fast(tmp_path: Path) -> None:
    started = time.monotonic()
    completed(*["pulsarctl topics set-retention t --"] * 20, home=tmp_path)
    assert time.monotonic() - started < 20 * 0.1, "a tenth of a second each, fish's own start included"
