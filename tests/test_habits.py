"""Workflows, hooks, templates, and releases: each refers to targets, files, and versions that exist."""

import datetime
import re
import runpy
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.long.bench.__main__ import STANDING
from tests.long.bench.rows import BY_NAME

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")})
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
NAMED_TARGET = re.compile(r"(?:`|^ {4})make ([a-z-]+)", re.MULTILINE)  # in a page
BY_HAND = {
    "bench",
    "completions",
    "docs",
    "help",
    "pictures",
    "proto",
    "quick",
    "ready",
    "release",
    "replication-latency",
    "audit",
}
RELEASE = runpy.run_path(str(ROOT / ".ci" / "release.py"))
LOWER_BOUNDS = runpy.run_path(str(ROOT / ".ci" / "lower_bounds.py"))


def read(path: Path | str) -> Any:
    return yaml.safe_load((ROOT / path).read_text())


def jobs(workflow: Path) -> dict[str, Any]:
    return dict(read(workflow)["jobs"])


def commands(workflow: Path) -> list[str]:
    """What its jobs run, with every value of their matrices."""
    found = []
    for job in jobs(workflow).values():
        matrix = job.get("strategy", {}).get("matrix", {})
        found += [step["run"] for step in job["steps"] if "run" in step]
        found += [f"make {item['target']}" for item in matrix.get("include", []) if "target" in item]
        found += matrix.get("command", [])
    return [command for command in found if "${{" not in command]


def test_workflows_run_only_targets_and_files_that_exist() -> None:
    for workflow in WORKFLOWS:
        assert commands(workflow), workflow
        for command in commands(workflow):
            program, *words = command.split()
            if program == "make":
                assert words[0] in TARGETS, command
            else:
                assert [word for word in words if word.startswith(".ci/") and not (ROOT / word).exists()] == []


def test_workflows_may_only_read_and_every_job_has_a_deadline() -> None:
    for workflow in WORKFLOWS:
        assert read(workflow)["permissions"] == {"contents": "read"}, workflow
        assert [name for name, job in jobs(workflow).items() if "timeout-minutes" not in job] == [], workflow


def test_only_what_publishes_gets_more_permissions() -> None:
    granted = {
        (workflow.stem, name): job["permissions"]
        for workflow in WORKFLOWS
        for name, job in jobs(workflow).items()
        if "permissions" in job
    }
    assert granted == {
        ("release", "publish"): {"id-token": "write"},
        ("release", "page"): {"contents": "write"},
        ("release", "image"): {"contents": "read", "packages": "write"},
        ("docs", "deploy"): {"pages": "write", "id-token": "write"},
    }


def test_the_tests_run_on_every_python_that_the_metadata_names_and_on_both_systems() -> None:
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    matrix = jobs(ROOT / ".github/workflows/ci.yml")["test"]["strategy"]["matrix"]
    assert matrix["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"
    assert [item["python"] for item in matrix["include"] if item["os"] == "macos-latest"] == [named[0], named[-1]]


def test_every_target_that_a_reader_meets_runs_in_a_workflow() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "docs/explanation/testing.md"]
    named = {
        name for page in pages for name in re.findall(r"(?:`|^ {4})make ([a-z-]+)", page.read_text(), re.MULTILINE)
    }
    run = {
        word for workflow in WORKFLOWS for line in commands(workflow) for word in re.findall(r"make ([a-z-]+)", line)
    }
    assert named - run - BY_HAND == set()


def test_the_quick_tests_and_the_local_demo_install_no_spark() -> None:
    for target in (["demo", "ENGINE=local"], ["quick"]):
        command = ["make", "-n", *target, "VENV=build/missing"]  # as in a new clone
        planned = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        assert re.findall(r"make-venv (.*)", planned) == ["build/missing test,demo"]


def test_the_hooks_run_what_make_lint_runs() -> None:
    planned = subprocess.run(["make", "-n", "lint"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    linted = {line for line in planned.splitlines() if line.startswith(".venv/bin/")}
    [local] = read(".pre-commit-config.yaml")["repos"]
    assert {hook["entry"] for hook in local["hooks"]} == linted
    assert all(hook["language"] == "system" and hook["pass_filenames"] is False for hook in local["hooks"])


def test_dependabot_looks_at_folders_with_something_to_update() -> None:
    manifests = {"pip": "pyproject.toml", "maven": "pom.xml", "gomod": "go.mod", "npm": "package.json"}
    manifests |= {"docker": "Containerfile", "github-actions": ".github/workflows/ci.yml"}
    for update in read(".github/dependabot.yml")["updates"]:
        for folder in update.get("directories", [update.get("directory")]):
            assert (ROOT / folder.lstrip("/") / manifests[update["package-ecosystem"]]).exists(), update


def test_pages_name_only_targets_and_rows_of_the_benchmark_that_exist() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert set(NAMED_TARGET.findall(text)) - TARGETS == set(), page
        assert set(re.findall(r"--row ([a-z-]+)", text)) - {*BY_NAME, *STANDING} == set(), page


def test_the_fragments_of_the_changelog_have_names_that_a_release_reads() -> None:
    assert RELEASE["fragments"](ROOT) is not None


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What a release reads and writes."""
    for folder in ("broker_core", "changelog.d"):
        (tmp_path / folder).mkdir()
    (tmp_path / "broker_core" / "__init__.py").write_text('"""The broker."""\n\n__version__ = "0.1.0"\n')
    (tmp_path / "changelog.d" / "README.md").write_text("How.\n")
    (tmp_path / "changelog.d" / "colors.added.md").write_text("Colors, on\na terminal.\n")
    (tmp_path / "changelog.d" / "seek.fixed.md").write_text("Seek by time.\n")
    changes = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- Topics.\n\n## [0.1.0] - 2026-01-01\n\n- All.\n"
    (tmp_path / "CHANGELOG.md").write_text(changes)
    return tmp_path


def test_a_release_sets_the_version_and_moves_the_fragments(tree: Path) -> None:
    RELEASE["prepare"](tree, "0.2.0", datetime.date(2026, 2, 3))
    assert (tree / "CHANGELOG.md").read_text() == (
        "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-02-03\n"
        "\n### Added\n\n- Topics.\n- Colors, on\n  a terminal.\n"
        "\n### Fixed\n\n- Seek by time.\n\n## [0.1.0] - 2026-01-01\n\n- All.\n"
    )
    assert '__version__ = "0.2.0"\n' in (tree / "broker_core" / "__init__.py").read_text()
    assert [path.name for path in (tree / "changelog.d").iterdir()] == ["README.md"]
    RELEASE["check"](tree, "0.2.0")


def test_a_fragment_is_an_entry_of_its_heading_and_not_of_the_last_group_below_it(tree: Path) -> None:
    log = tree / "CHANGELOG.md"
    grouped = "First.\n\n### Fixed\n\n- Ports.\n\n### Added\n\n- Topics.\n\nDevelopment:\n\n- `make bench`.\n"
    log.write_text(f"# Changelog\n\n## [Unreleased]\n\n{grouped}")
    RELEASE["prepare"](tree, "0.2.0", datetime.date(2026, 2, 3))
    assert log.read_text() == (
        "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-02-03\n\nFirst.\n"
        "\n### Added\n\n- Topics.\n- Colors, on\n  a terminal.\n\nDevelopment:\n\n- `make bench`.\n"
        "\n### Fixed\n\n- Ports.\n- Seek by time.\n"
    )


def test_a_tag_without_its_release_is_refused(tree: Path) -> None:
    with pytest.raises(SystemExit, match=r"cannot release 0\.2\.0: broker_core has version 0\.1\.0"):
        RELEASE["check"](tree, "0.2.0")


def test_a_fragment_that_was_left_over_is_refused(tree: Path) -> None:
    with pytest.raises(SystemExit, match=r"colors\.added\.md, seek\.fixed\.md"):
        RELEASE["check"](tree, "0.1.0")


@pytest.mark.parametrize("name", ["colors.md", "colors.new.md", "colors.added.txt"])
def test_a_fragment_with_a_wrong_name_stops_the_release(name: str, tree: Path) -> None:
    (tree / "changelog.d" / name).write_text("Colors.\n")
    with pytest.raises(SystemExit, match=r"name it TOPIC\.KIND\.md"):
        RELEASE["prepare"](tree, "0.2.0", datetime.date(2026, 2, 3))


def test_a_version_is_released_once(tree: Path) -> None:
    with pytest.raises(SystemExit, match=r"a section 0\.1\.0 already"):
        RELEASE["prepare"](tree, "0.1.0", datetime.date(2026, 2, 3))


def test_every_dependency_of_a_user_has_a_lower_bound_that_is_tested() -> None:
    wanted = LOWER_BOUNDS["of_users"](PROJECT)
    constraints = LOWER_BOUNDS["constraints"](wanted)
    assert all(re.fullmatch(r"[A-Za-z0-9.-]+==[0-9.]+", constraint) for constraint in constraints)
    names = {re.match(r"[A-Za-z0-9.-]+", one)[0] for one in wanted}  # type: ignore[index]  # each has a name
    assert {constraint.partition("==")[0] for constraint in constraints} == names
    assert {*LOWER_BOUNDS["EXTRAS"], "test", "demo", "docs", "dev"} == set(PROJECT["optional-dependencies"])
    with pytest.raises(SystemExit, match="no lower bound: rich"):
        LOWER_BOUNDS["constraints"](["rich"])
