"""The archive for the executors contains all of our modules that the data source imports."""

import subprocess
import sys
from pathlib import Path

import pytest

from pulsarctl.spark.shipping import write_archive

IMPORT = """
import sys
sys.path.insert(0, sys.argv[1])
import pulsarctl.spark.source
ours = {name: module.__file__ for name, module in sys.modules.items()
        if name.split(".")[0] in ("pulsarctl", "broker_core")}
print(sorted(name for name, file in ours.items() if not file.startswith(sys.argv[1])))
"""


def test_the_directory_is_a_path_or_a_text(tmp_path: Path) -> None:
    assert write_archive(str(tmp_path)) == write_archive(tmp_path) == tmp_path / "pulsarctl.zip"


def test_the_data_source_can_be_imported_from_the_archive(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    answer = subprocess.run(
        [sys.executable, "-c", IMPORT, write_archive(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert answer.stdout == "[]\n"
