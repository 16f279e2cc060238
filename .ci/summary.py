"""Prints the summary of .ci/run: what passed, and what was skipped and why. Returns its exit code.

The tests with the official Python client show that the product works, so a skipped one counts as a failure.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

NEVER_SKIPPED = "tests.clients."


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lint", type=int, required=True, help="exit code of make lint")
    parser.add_argument("--test", type=int, required=True, help="exit code of make test")
    parser.add_argument("--clients", default="not run", help="exit code of make test-clients, or why it did not run")
    parser.add_argument("--clients-results", type=Path, help="its results.json")
    parser.add_argument("results", type=Path, help="JUnit file of make test")
    options = parser.parse_args(argv)

    outcome, skips = read_results(options.results)
    lines = [f"lint: {verdict(options.lint)}", f"test: {verdict(options.test)}; {describe(outcome)}"]
    lines += [f"skipped {count} in {module}: {reason}" for (module, reason), count in sorted(skips.items())]
    lines += [f"test-clients: {clients(options.clients, options.clients_results)}"]
    forbidden = sorted({module for module, _ in skips if module.startswith(NEVER_SKIPPED)})
    lines += [f"FAILED: {module} may not be skipped" for module in forbidden]
    if not outcome:
        lines.append("FAILED: the test run left no results")
    clients_failed = options.clients.isdigit() and int(options.clients)
    failed = bool(options.lint or options.test or clients_failed or forbidden or not outcome)
    lines.append("ci: FAILED" if failed else "ci: passed")
    print("\n".join(lines))
    return int(failed)


def read_results(path: Path) -> tuple[Counter[str], Counter[tuple[str, str]]]:
    """Counts outcomes, and skips by (module, reason). Both are empty if there is no file."""
    outcome: Counter[str] = Counter()
    skips: Counter[tuple[str, str]] = Counter()
    if not path.exists():
        return outcome, skips
    for case in ElementTree.parse(path).iter("testcase"):  # noqa: S314  # our own test run wrote it
        kinds = {child.tag: child for child in case if child.tag in ("failure", "error", "skipped")}
        outcome[next(iter(kinds), "passed")] += 1
        if "skipped" in kinds:
            skips[case.get("classname", "?"), kinds["skipped"].get("message") or "no reason given"] += 1
    return outcome, skips


def clients(code: str, results: Path | None) -> str:
    """The result of make test-clients. `code` is a text if it did not run."""
    if not code.isdigit():
        return code
    outcomes = json.loads(results.read_text()) if results and results.exists() else []
    counts = Counter(outcome["result"] for outcome in outcomes)
    return f"{verdict(int(code))}; " + ", ".join(f"{counts[kind]} {kind}" for kind in ("passed", "failed", "skipped"))


def verdict(code: int) -> str:
    return "passed" if code == 0 else f"FAILED (exit code {code})"


def describe(outcome: Counter[str]) -> str:
    names = (("passed", "passed"), ("failure", "failed"), ("error", "broken"), ("skipped", "skipped"))
    return ", ".join(f"{outcome[kind]} {name}" for kind, name in names)


if __name__ == "__main__":
    sys.exit(main())
