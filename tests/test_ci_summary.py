"""The summary of .ci/run."""

import subprocess
import sys
from pathlib import Path

SUMMARY = Path(__file__).resolve().parent.parent / ".ci" / "summary.py"
PASSED = '<testcase classname="tests.unit.broker_core.wire.test_frame" name="a"/>'
SKIPPED = '<testcase classname="{module}" name="b"><skipped message="no Java here"/></testcase>'
FAILED = '<testcase classname="tests.unit.broker_core.wire.test_frame" name="c"><failure message="no"/></testcase>'


def summarise(
    tmp_path: Path, *cases: str, lint: int = 0, test: int = 0, options: tuple[str, ...] = ()
) -> tuple[int, str]:
    results = tmp_path / "results.xml"
    results.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
    command = [sys.executable, str(SUMMARY), "--lint", str(lint), "--test", str(test), *options, str(results)]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout


def test_the_summary_says_what_passed(tmp_path: Path) -> None:
    code, text = summarise(tmp_path, PASSED, PASSED)
    assert code == 0
    assert text == (
        "lint: passed\ntest: passed; 2 passed, 0 failed, 0 broken, 0 skipped\ntest-clients: not run\nci: passed\n"
    )


def test_the_summary_says_what_was_skipped_and_why(tmp_path: Path) -> None:
    code, text = summarise(tmp_path, PASSED, SKIPPED.format(module="tests.cli.spark.test_java"))
    assert code == 0
    assert "skipped 1 in tests.cli.spark.test_java: no Java here" in text


def test_a_skipped_python_client_test_fails_the_run(tmp_path: Path) -> None:
    code, text = summarise(tmp_path, PASSED, SKIPPED.format(module="tests.clients.test_expiry"))
    assert code == 1
    assert "FAILED: tests.clients.test_expiry may not be skipped" in text


def test_a_failed_lint_or_test_fails_the_run(tmp_path: Path) -> None:
    assert summarise(tmp_path, PASSED, lint=2)[0] == 1
    assert summarise(tmp_path, FAILED, test=1)[0] == 1


def test_the_summary_has_the_results_of_the_other_clients(tmp_path: Path) -> None:
    outcomes = tmp_path / "clients.json"
    outcomes.write_text('[{"result": "passed"}, {"result": "failed"}]')
    code, text = summarise(tmp_path, PASSED, options=("--clients", "1", "--clients-results", str(outcomes)))
    assert code == 1
    assert "test-clients: FAILED (exit code 1); 1 passed, 1 failed, 0 skipped" in text


def test_a_missing_tool_chain_is_named(tmp_path: Path) -> None:
    code, text = summarise(tmp_path, PASSED, options=("--clients", "not run: no mvn"))
    assert code == 0
    assert "test-clients: not run: no mvn" in text


def test_missing_results_fail_the_run(tmp_path: Path) -> None:
    assert summarise(tmp_path)[0] == 1
