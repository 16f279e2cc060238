"""Ctrl-C before the command runs, while the program is still importing."""

import signal
from pathlib import Path

import pytest

from tests.support.program import Program

INTERRUPTS = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"


@pytest.mark.parametrize("module", ["typer", "yaml"])
def test_an_interrupted_import_ends_the_process_without_a_traceback(tmp_path: Path, module: str) -> None:
    """`typer` is imported before the command is known, and `yaml` by the command."""
    (tmp_path / f"{module}.py").write_text(INTERRUPTS)
    config = tmp_path / "config"
    config.write_text("contexts: {}\n")
    environ = {"PYTHONPATH": str(tmp_path), "PULSARCONFIG": str(config)}
    with Program(tmp_path, "context", "list", environ=environ) as program:
        code = program.finish()
    assert (code in (-signal.SIGINT, 130), program.stdout, program.stderr) == (True, b"", b"")
