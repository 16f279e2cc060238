"""Command lines that run on both brokers in order, and their output."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

from broker_core.testing import EmbeddedBroker
from tests.long.real_pulsar.java_pulsar import JavaPulsar
from tests.long.real_pulsar.normalised import normalised
from tests.support.runner import Cli, Outcome

Answers = list[tuple[Outcome, Outcome]]  # (Pulsar's, ours) for each step


def run_on_both(steps: Sequence[str], java_pulsar: JavaPulsar, home: Path) -> Answers:
    with EmbeddedBroker() as ours:
        theirs = Cli(home, java_pulsar.http_url, java_pulsar.service_url)
        mine = Cli(home, ours.http_url, ours.service_url)
        return [(_run(theirs, step), _run(mine, step)) for step in steps]


def check_same(answers: Answers, index: int) -> None:
    expected, ours = answers[index]
    assert (ours.exit_code, ours.stderr) == (expected.exit_code, expected.stderr)
    assert _lines(ours.stdout) == _lines(expected.stdout)


def _lines(text: str) -> list[str]:
    """Lines, so that a difference is readable. Java orders the members of an object by reflection, not always alike."""
    try:
        return json.dumps(json.loads(text), indent=1, sort_keys=True).splitlines()
    except ValueError:
        return text.splitlines()


def numbered(steps: Sequence[str]) -> list[str]:
    """The steps as test names."""
    return [f"{index}: {step}" for index, step in enumerate(steps)]


def _run(cli: Cli, step: str) -> Outcome:
    outcome = cli(*shlex.split(step))
    return Outcome(outcome.exit_code, normalised(outcome.stdout), normalised(outcome.stderr))
