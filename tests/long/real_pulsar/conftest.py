"""The two brokers to compare, one of each for the whole run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.long.real_pulsar.steps")

from tests.long.real_pulsar.java_pulsar import JavaPulsar, Missing  # noqa: E402  # behind the line above, or its own asserts would not be rewritten


@pytest.fixture(scope="session")
def java_pulsar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaPulsar]:
    """Skips with a reason without Maven or Java."""
    folder: Path = tmp_path_factory.mktemp("java-pulsar")
    broker = JavaPulsar(folder)
    try:
        broker.start()
    except Missing as reason:
        pytest.skip(str(reason))
    yield broker
    broker.stop()
