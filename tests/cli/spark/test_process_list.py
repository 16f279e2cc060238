"""What other users of the machine see of a Spark job: the arguments of its processes hold no setting."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark")


import pyspark

from pulsarctl.spark.properties import write_properties
from tests.cli.spark.processes import MARK, marked, needs_proc
from tests.support.condition import wait_until

KEY, SECRET = "spark.hadoop.fs.s3a.secret.key", "kept/from=ps\\and\nmore"
DEFAULT = "spark.pulsarctl.test.default"
JOB = f"""
import sys
from pulsarctl.spark.session import spark_context
with spark_context("test", "local[1]", options={{{KEY!r}: {SECRET!r}}}, short=True) as context:
    seen = context._jsc.sc().conf()
    print(repr((seen.get({KEY!r}), seen.get({DEFAULT!r}))), flush=True)
    sys.stdin.read()
"""


@needs_proc
@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("submitted", [False, True], ids=["installed", "SPARK_HOME"])
def test_no_process_of_a_job_has_a_setting_in_its_arguments(submitted: bool, tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(f"{DEFAULT} read\n{KEY} replaced\n")
    environment = {**os.environ, MARK: str(tmp_path), "SPARK_CONF_DIR": str(tmp_path)}
    with (tmp_path / "answer").open("wb") as answer:
        process = subprocess.Popen(
            [sys.executable, "-c", JOB],
            env=environment | ({"SPARK_HOME": str(Path(pyspark.__path__[0]))} if submitted else {}),
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=answer,
            stderr=subprocess.DEVNULL,
        )
    seen: set[str] = set()

    def answered() -> bool:
        seen.update(marked(str(tmp_path)))
        return (tmp_path / "answer").stat().st_size > 0

    try:
        wait_until(answered, seconds=100)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert (tmp_path / "answer").read_text() == f"{(SECRET, 'read')!r}\n"
    started = {line for line in seen if JOB not in line}
    assert any("org.apache.spark.launcher.Main" in line for line in started)
    assert any("org.apache.spark.deploy.SparkSubmit" in line for line in started)
    assert not [line for line in started if KEY in line or "from=ps" in line]


def test_only_the_owner_can_read_the_settings_and_no_value_ends_its_line(tmp_path: Path) -> None:
    _, file, _ = write_properties(tmp_path, {"spark.a": " b\\c\n#d", "spark.é": "=ü"})
    assert stat.S_IMODE(Path(file).stat().st_mode) == 0o600
    assert Path(file).read_text(encoding="utf-8") == "spark.a=\\ b\\\\c\\n\\#d\nspark.é=\\=ü\n"
