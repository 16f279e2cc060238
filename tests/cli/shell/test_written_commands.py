"""Every command line that the pages and the messages of the program show can be typed like that."""

import re
from collections.abc import Iterable
from pathlib import Path

import typer
from typer.exceptions import TyperException

from pulsarctl.errors import CliError
from tests.cli.parsed import check_names, parse, root
from tests.cli.shell.written_commands import commands, in_blocks, in_messages, in_sentences

ROOT = Path(__file__).parents[3]
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")})
MODULES = sorted({*ROOT.glob("cli/**/*.py"), *ROOT.glob("broker_core/**/*.py")})

SHELL_FUNCTIONS = ("west", "east", "$here")  # docs/how-to/geo-replication.md defines them: pulsarctl with addresses
# A sentence may name only the verb, or say N for a number.
INCOMPLETE = ("MissingParameter", "NoArgsIsHelpError", "BadOptionUsage", "BadParameter")
# Versions, a certificate, the header of a file, the name of a job, and verbs that are known only when it runs.
NO_COMMANDS = ("1", "local", "storage format", "ops 1", "namespaces 1", "topics 1")


def refused(written: Iterable[list[str]], *allowed: str) -> list[str]:
    """The commands that cannot be typed, except for problems of the classes `allowed`."""
    found = []
    for words in written:
        try:
            context = parse(words)
            if not allowed:  # elsewhere, names are placeholders
                check_names(context)
        except typer.Exit:
            pass
        except (CliError, TyperException) as problem:
            found += [] if type(problem).__name__ in allowed else [f"{' '.join(words)}: {problem}"]
    return found


def mentioned(page: str, nouns: Iterable[str]) -> list[list[str]]:
    """Commands in sentences, with `pulsarctl` or without."""
    spans = [span.split() for span in in_sentences(page) if ": " not in span]
    return [*commands(in_sentences(page), "pulsarctl"), *(span for span in spans if span[1:] and span[0] in nouns)]


def test_every_command_in_the_pages_can_be_typed() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace('"$@"', "version")
        lines = commands(in_blocks(text), "pulsarctl", *SHELL_FUNCTIONS)
        assert refused(words for words in lines if words and "[OPTIONS]" not in words) == [], page
        assert refused(mentioned(text, root().commands), *INCOMPLETE) == [], page


def test_every_command_that_a_message_suggests_can_be_typed() -> None:
    found = [line for module in MODULES for line in in_messages(module.read_text(encoding="utf-8"))]
    lines = [re.sub(r"\[.*?\]", "", line) for line in found]  # optional parts in a usage
    shown = [words for words in commands(lines, "pulsarctl") if not " ".join(words).startswith(NO_COMMANDS)]
    assert len(shown) > 30, "the patterns find suggestions"
    assert refused(shown, *INCOMPLETE) == []
