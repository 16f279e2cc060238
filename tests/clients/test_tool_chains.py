"""Reading the results of the other languages' tools, and running without these tools."""

import json
import sys
from pathlib import Path

import pytest

from tests.clients import run
from tests.clients.catalogue import source_files
from tests.clients.compatibility_table import run_names
from tests.clients.differences import DIFFERENCES, DIFFERENT, Run, judged
from tests.clients.tool_chains import FAILED, PASSED, SKIPPED, Go, Node, Outcome, Python, ToolChain, merged


def read(chain: ToolChain, tmp_path: Path, printed: str) -> list[Outcome]:
    log = tmp_path / "log"
    log.write_text(printed)
    return merged(chain.outcomes(log))


def test_a_missing_tool_chain_is_a_failure(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "argv", ["run", "--only", "go"])
    assert run.main() == 1
    assert "the Go client's tests need `go`, which is not installed" in capsys.readouterr().err


def test_a_run_without_results_is_a_failure() -> None:
    (outcome,) = Go().verdicts([], Path("go.log"))
    assert (outcome.result, outcome.reason) == (FAILED, "see go.log")


def test_results_of_node_have_names_and_reasons(tmp_path: Path) -> None:
    printed = (
        "TAP version 13\nok 1 - works\n  ---\nnot ok 2 - breaks\n  ---\n  error: 'why'\nok 3 - rests # SKIP later\n"
    )
    assert read(Node(), tmp_path, printed) == [
        Outcome("Node", "breaks", FAILED, "error: 'why'"),
        Outcome("Node", "rests", SKIPPED),
        Outcome("Node", "works", PASSED),
    ]


def test_results_of_go_have_names_and_reasons(tmp_path: Path) -> None:
    events = [
        {"Action": "output", "Test": "TestA", "Output": "    seek_test.go:7: why\n"},
        {"Action": "fail", "Test": "TestA"},
        {"Action": "pass", "Test": "TestB"},
        {"Action": "fail"},
    ]
    printed = "".join(f"{json.dumps(event)}\n" for event in events)
    assert read(Go(), tmp_path, printed) == [
        Outcome("Go", "TestA", FAILED, "seek_test.go:7: why"),
        Outcome("Go", "TestB", PASSED),
    ]


def test_a_parameterized_test_passes_when_all_cases_do(tmp_path: Path) -> None:
    events = [{"Action": "pass", "Test": "TestA/one"}, {"Action": "fail", "Test": "TestA/two"}]
    printed = "".join(f"{json.dumps(event)}\n" for event in events)
    assert [(each.test, each.result) for each in read(Go(), tmp_path, printed)] == [("TestA", FAILED)]


KNOWN = ("Java", "BatchIndexAckTest.aPartlyAcknowledgedBatchSurvivesAnUnload")
REAL = Run(real=True, proxied=True, secured=False)


def judge(result: str, run: Run) -> str:
    (outcome,) = judged([Outcome(*KNOWN, result)], run)
    return outcome.result


def test_a_declared_failure_in_front_of_apache_pulsar_is_a_difference() -> None:
    assert judge(FAILED, REAL) == DIFFERENT


def test_a_declared_failure_in_front_of_this_broker_is_a_failure() -> None:
    assert judge(FAILED, Run(real=False, proxied=True, secured=False)) == FAILED


def test_a_declared_failure_that_passes_is_a_failure() -> None:
    assert judge(PASSED, REAL) == FAILED


def test_every_declared_test_exists() -> None:
    known = {(file.client, test) for file in source_files() for test in run_names(file)}
    assert {test for one in DIFFERENCES for test in one.tests} <= known


def test_results_of_python_have_names_and_reasons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = tmp_path / "python.xml"
    report.write_text(
        '<testsuite><testcase classname="tests.clients.test_seek" name="test_a[x]"/>'
        '<testcase classname="tests.clients.test_seek" name="test_b"><failure message="why"/></testcase></testsuite>'
    )
    monkeypatch.setattr(Python, "report", report)
    assert read(Python(), tmp_path, "") == [
        Outcome("Python", "test_seek.test_a", PASSED),
        Outcome("Python", "test_seek.test_b", FAILED, "why"),
    ]
