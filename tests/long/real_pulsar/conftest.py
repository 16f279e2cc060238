"""The brokers to compare with, one of each for the whole run."""

from collections.abc import Iterator

import pytest

pytest.register_assert_rewrite("tests.long.real_pulsar.steps")

from tests.long.real_pulsar.java_pulsar import MILESTONE, JavaPulsar, Missing  # noqa: E402  # behind the line above, or its own asserts would not be rewritten


@pytest.fixture(scope="session")
def java_pulsar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaPulsar]:
    """Skips with a reason without Maven or Java."""
    yield from running(JavaPulsar(tmp_path_factory.mktemp("java-pulsar")))


@pytest.fixture(scope="session")
def java_pulsar_5(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaPulsar]:
    """A milestone of Pulsar 5.0; skips like the other."""
    yield from running(JavaPulsar(tmp_path_factory.mktemp("java-pulsar-5"), version=MILESTONE))


def running(broker: JavaPulsar) -> Iterator[JavaPulsar]:
    try:
        broker.start()
    except Missing as reason:
        pytest.skip(str(reason))
    yield broker
    broker.stop()
