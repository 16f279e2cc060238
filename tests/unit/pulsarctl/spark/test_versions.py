"""What is refused on an older PySpark."""

import pytest

pytest.importorskip("pyspark")

import pyspark

from pulsarctl.errors import CliError
from pulsarctl.spark.versions import require_streaming


@pytest.mark.parametrize("version", ["4.0.1", "4.1.4"])
def test_streams_are_refused_before_4_2(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)
    with pytest.raises(CliError, match=f"need PySpark 4.2 or newer, and this is {version}"):
        require_streaming()


@pytest.mark.parametrize("version", ["4.2.0", "4.3.0", "5.0.0.dev1"])
def test_streams_are_supported_since_4_2(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)
    require_streaming()
