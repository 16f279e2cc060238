import pytest

pytest.importorskip("pyarrow")


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    return f"persistent://public/default/{request.node.name}"
