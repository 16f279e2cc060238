"""The tool chains of all languages. Each runs its tests against a broker and reports the outcome of every test.

A parameterized test counts as one and passes if all its cases do.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent.parent / "build" / "clients"
RESULTS = BUILD / "results.json"
LIMIT_SECONDS = 600
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


class ToolChainMissing(Exception):
    """A required program is not installed; the text names it."""


@dataclass(frozen=True)
class Broker:
    """The addresses of the broker under test; with TLS the authority to trust, and the token of a super-user."""

    service_url: str
    admin_url: str
    trust_file: str = ""
    token: str = ""

    @property
    def variables(self) -> Mapping[str, str]:
        """What tells the tests about it."""
        return {
            "PULSAR_SERVICE_URL": self.service_url,
            "PULSAR_ADMIN_URL": self.admin_url.rstrip("/"),
            "PULSAR_TRUST_CERTS": self.trust_file,
            "PULSAR_TOKEN": self.token,
        }


@dataclass(frozen=True)
class Outcome:
    """The outcome of a test, with the first line of the reason for a failure."""

    client: str
    test: str
    result: str
    reason: str = ""


class ToolChain(ABC):
    """One language: its programs, the command that runs its tests, and its results."""

    client: str
    programs: tuple[str, ...]
    on_apache = True  # whether Apache Pulsar 4.0 serves the client

    def check(self) -> None:
        """Raises ToolChainMissing."""
        for program in self.programs:
            if shutil.which(program) is None:
                raise ToolChainMissing(f"the {self.client} client's tests need `{program}`, which is not installed")

    def run(self, variables: Mapping[str, str]) -> list[Outcome]:
        """Runs all tests. The output goes to a log below BUILD, which an error names if there are no results.

        `variables` of the environment name the brokers and credentials.
        """
        log = BUILD / f"{self.client.lower()}.log"
        self.prepare()
        with log.open("w") as output:
            subprocess.run(
                self.command(),
                cwd=self.directory,
                env={**os.environ, **variables},
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=LIMIT_SECONDS,
                check=False,
            )
        return self.verdicts(merged(self.outcomes(log)), log)

    def verdicts(self, outcomes: list[Outcome], log: Path) -> list[Outcome]:
        """The outcomes, or one failure if there are none because compiling or downloading failed."""
        return outcomes or [Outcome(self.client, "(the tests did not run)", FAILED, f"see {log}")]

    @property
    def directory(self) -> Path:
        return HERE / self.client.lower()

    def prepare(self) -> None:
        """Creates the directory for the results and deletes those of an earlier run."""
        BUILD.mkdir(parents=True, exist_ok=True)

    @abstractmethod
    def command(self) -> list[str]: ...

    @abstractmethod
    def outcomes(self, log: Path) -> Iterator[Outcome]: ...


class Java(ToolChain):
    client = "Java"
    programs = ("mvn", "java")

    def prepare(self) -> None:
        super().prepare()
        shutil.rmtree(self.reports, ignore_errors=True)

    @property
    def reports(self) -> Path:
        return BUILD / self.directory.name / "surefire-reports"

    def command(self) -> list[str]:
        return ["mvn", "--batch-mode", "--quiet", f"-Dclients.build={BUILD / self.directory.name}", "test"]

    def outcomes(self, log: Path) -> Iterator[Outcome]:
        for report in sorted(self.reports.glob("TEST-*.xml")):
            for case in ElementTree.parse(report).iter("testcase"):
                name = case.get("name", "").partition("(")[0].partition("[")[0].partition("{")[0]
                yield junit_outcome(self.client, f"{case.get('classname', '').rpartition('.')[2]}.{name}", case)


class JavaV5(Java):
    """The V5 API of Pulsar 5.0."""

    client = "Java-V5"
    on_apache = False


class Node(ToolChain):
    client = "Node"
    programs = ("node", "npm")
    # TAP, since a forced exit cuts off what other reporters buffer.
    ended = re.compile(r"(not ok|ok) \d+ - (.*?)( # SKIP.*)?$")

    def prepare(self) -> None:
        super().prepare()
        if not (self.directory / "node_modules" / ".package-lock.json").exists():
            subprocess.run(
                ["npm", "ci", "--no-audit", "--no-fund"], cwd=self.directory, check=True, timeout=LIMIT_SECONDS
            )

    def command(self) -> list[str]:
        """Forces an exit, because the client leaves timers and sockets open when it is closed."""
        run = ["node", "--test", "--test-force-exit", "--test-concurrency=4", "--test-timeout=60000"]
        return [*run, "--test-reporter=tap", "."]

    def outcomes(self, log: Path) -> Iterator[Outcome]:
        lines = log.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines):
            if match := self.ended.match(line):
                result = FAILED if match[1] == "not ok" else SKIPPED if match[3] else PASSED
                reasons = (later.strip() for later in lines[number : number + 12] if later.startswith("  error:"))
                yield Outcome(self.client, match[2], result, next(reasons, "") if result == FAILED else "")


class Go(ToolChain):
    client = "Go"
    programs = ("go",)

    def command(self) -> list[str]:
        return ["go", "test", "-count=1", "-parallel=8", "-timeout=5m", "-json", "."]

    def outcomes(self, log: Path) -> Iterator[Outcome]:
        results = {"pass": PASSED, "fail": FAILED, "skip": SKIPPED}
        printed: dict[str, str] = {}
        for line in log.read_text(encoding="utf-8").splitlines():
            event = json.loads(line) if line.startswith("{") else {}
            test = event.get("Test", "").partition("/")[0]
            if test and "_test.go:" in event.get("Output", ""):
                printed.setdefault(test, event["Output"].strip())
            if test and event.get("Action") in results:
                yield Outcome(self.client, test, results[event["Action"]], printed.get(test, ""))


class Python(ToolChain):
    """The tests that need only a client and a topic. The others start brokers with settings of their own."""

    client = "Python"
    programs = ()
    report = BUILD / "python.xml"

    def prepare(self) -> None:
        super().prepare()
        self.report.unlink(missing_ok=True)

    @property
    def directory(self) -> Path:
        return HERE.parent.parent

    def command(self) -> list[str]:
        return [sys.executable, "-m", "pytest", "-q", f"--junitxml={self.report}", str(HERE)]

    def outcomes(self, log: Path) -> Iterator[Outcome]:
        if self.report.exists():
            for case in ElementTree.parse(self.report).iter("testcase"):
                module = case.get("classname", "").rpartition(".")[2]
                yield junit_outcome(self.client, f"{module}.{case.get('name', '').partition('[')[0]}", case)


TOOL_CHAINS: tuple[ToolChain, ...] = (Java(), JavaV5(), Go(), Node(), Python())


def junit_outcome(client: str, test: str, case: ElementTree.Element) -> Outcome:
    for child in case:
        if child.tag in ("failure", "error"):
            why = child.get("message") or (child.text or "").strip() or "no message"
            return Outcome(client, test, FAILED, why.splitlines()[0])
        if child.tag == "skipped":
            return Outcome(client, test, SKIPPED, child.get("message") or "")
    return Outcome(client, test, PASSED)


def merged(outcomes: Iterator[Outcome]) -> list[Outcome]:
    """One outcome for each test: its worst one."""
    worst = {PASSED: 0, SKIPPED: 1, FAILED: 2}
    tests: dict[str, Outcome] = {}
    for outcome in outcomes:
        before = tests.get(outcome.test)
        if before is None or worst[outcome.result] > worst[before.result]:
            tests[outcome.test] = outcome
    return [tests[name] for name in sorted(tests)]
