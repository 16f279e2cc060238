from pathlib import Path

import pytest

pytest.importorskip("pyarrow")


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    name = request.node.name.replace("[", "-").replace("]", "")
    return f"persistent://public/default/{name}"


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The progress of imports is kept apart."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
