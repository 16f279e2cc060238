"""A file of a million lines through `produce --lines` and back through `consume`: correctness and memory."""

import base64
import filecmp
import json
import os
import random
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.long.bench.brokers import scratch_dir
from tests.long.bench.procfs import peak_resident_mb
from tests.support.broker_process import PULSARCTL, BrokerProcess

LINES, LINE_BYTES = 1_000_000, 200
TOPIC = "bench-lines"
AWKWARD = (b"", b"not utf-8: \xff\xfe", b"carriage return\r", b"a nul: \x00", b"x" * (1 << 20), "ümläut 🚀".encode())


@dataclass(frozen=True)
class Run:
    seconds: float
    peak_mb: float  # resident memory of the command

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s, {self.peak_mb:.0f} MB"


def lines(directory: Path) -> str:
    folder = scratch_dir(directory, "lines-files")
    folder.mkdir(parents=True)
    source, text, jsonl, nowhere = folder / "source", folder / "text", folder / "jsonl", Path(os.devnull)
    write_lines(source)
    with BrokerProcess(scratch_dir(directory, "lines")) as process:
        addresses = {"PULSARCTL_SERVICE_URL": process.service_url, "PULSARCTL_ADMIN_URL": process.http_url}
        environment = os.environ | addresses
        for subscription in ("text", "jsonl"):  # before anything is acknowledged and trimmed
            run(environment, ("topics", "create-subscription", TOPIC, "-s", subscription, "-m", "earliest"), nowhere)
        produced = run(environment, ("produce", TOPIC, "--lines", str(source)), nowhere)
        back = ("consume", TOPIC, "-e", "-n", "0")
        as_text = run(environment, (*back, "-s", "text", "-F", r"%v\n"), text)
        as_json = run(environment, (*back, "-s", "jsonl", "-o", "jsonl"), jsonl)
        broker_mb = peak_resident_mb(process.pid)
    same_text = filecmp.cmp(source, text, shallow=False)
    same_json = all(value == line for value, line in zip(values(jsonl), own_lines(source), strict=True))
    size = source.stat().st_size / 1e6
    scratch_dir(directory, "lines")
    return (
        f"{LINES:,} lines, {size:.0f} MB: produce {produced}; consume as text {as_text}, as JSON lines {as_json}; "
        f"broker {broker_mb:.0f} MB; text {verdict(same_text)}, JSON {verdict(same_json)}"
    )


def write_lines(path: Path) -> None:
    """Random printable lines of about LINE_BYTES, with awkward ones in between;"""
    chance = random.Random(1)
    block = bytes(chance.randrange(32, 127) for _ in range(LINE_BYTES * 64))
    awkward = {LINES // (len(AWKWARD) + 1) * (number + 1): line for number, line in enumerate(AWKWARD)}
    with path.open("wb") as file:
        for number in range(LINES):
            start = chance.randrange(len(block) - LINE_BYTES)
            line = awkward.get(number, b"%d " % number + block[start : start + LINE_BYTES - 8])
            file.write(line + b"\n")


def run(environment: dict[str, str], arguments: tuple[str, ...], output: Path) -> Run:
    """Runs the command with its stdout in a file. Raises CalledProcessError."""
    started = time.monotonic()
    with output.open("wb") as out:
        process = subprocess.Popen([PULSARCTL, *arguments], env=environment, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, arguments)
    return Run(time.monotonic() - started, usage.ru_maxrss / 1024)


def values(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        for line in file:
            record = json.loads(line)
            yield base64.b64decode(record["valueBase64"]) if "valueBase64" in record else record["value"].encode()


def own_lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        for line in file:
            yield line.removesuffix(b"\n")


def verdict(same: bool) -> str:
    return "equal" if same else "DIFFERS"
