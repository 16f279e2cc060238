"""Prose reads as the Apache docs, gh, kubectl, and rpk read: CONTRIBUTING.md, "Voice", says how and why.

Every line that people read is searched for phrases that plain American English does not use, or not in that sense:
help, errors, configuration, docs, docstrings, comments, and the names of tests.
"""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
READ = (".py", ".md", ".yaml", ".yml", ".toml", ".fish", ".bash", ".svg", "Makefile", "_pulsarctl", "run")
LEFT_OUT = (
    "tests/test_english.py",
    "broker_core/wire/pulsar_api_pb2.py",
    "broker_core/wire/pulsar_markers_pb2.py",
    "LICENSE",
)

PHRASES = (
    "and behind it",
    "anew",
    "anything but",
    "at hand",
    "behind it",
    "behind them",
    "but for",
    "by themselves",
    "fast road",
    "for ever",
    "goes unheard",
    "had its turn",
    "hitherto",
    "in masses",
    "in the making",
    "in their turn",
    "keeps book",
    "keep book",
    "left away",
    "lest",
    "likewise",
    "listening-to-be",
    "look after",
    "looked after",
    "looks after",
    "nobody",
    "nothing but",
    "of its own accord",
    "of their own accord",
    "of themselves",
    "of this bundle only",
    "of this subscription only",
    "one types",
    "one's own",
    "others count on",
    "shall",
    "so many",
    "so much",
    "so often",
    "somebody",
    "stays undone",
    "such a one",
    "the keys of these",
    "this late",
    "this often",
    "thereby",
    "whoever",
    "with a word",
    "without a word",
)
FOUND = re.compile(r"(?<![a-z'])(" + "|".join(re.escape(phrase) for phrase in PHRASES) + r")(?![a-z])", re.IGNORECASE)
EXAMPLES = re.compile(r"^\| .* \| .* \|$")  # of CONTRIBUTING.md: what not to write, and what to write instead


def files() -> list[str]:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [name for name in tracked if name.endswith(READ) and name not in LEFT_OUT and (ROOT / name).exists()]


def prose(name: str) -> list[tuple[int, str]]:
    lines = (ROOT / name).read_text(errors="replace").splitlines()
    examples = name == "CONTRIBUTING.md"
    return [
        (number, line.replace("_", " "))
        for number, line in enumerate(lines, 1)
        if not (examples and EXAMPLES.match(line))
    ]


def test_no_listed_phrase_is_in_the_text_that_people_read() -> None:
    found = [
        f"{name}:{number}: {match[0]!r}: {line.strip()[:100]}"
        for name in files()
        for number, line in prose(name)
        for match in FOUND.finditer(line)
    ]
    assert not found, "CONTRIBUTING.md, 'Voice', says what to write instead:\n" + "\n".join(found)
