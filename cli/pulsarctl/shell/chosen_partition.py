"""The partition that `--partition` names."""

from collections.abc import Iterator
from contextlib import contextmanager

from pulsarctl.errors import CliError, NotFound, UsageProblem
from pulsarctl.shell.call import Call
from pulsarctl.values.names import full_topic, is_scalable, partition_name, scalable_topic


def chosen(topic: str, partition: int | None) -> str:
    """The full name of the topic, which may be scalable, or of one partition. Raises `UsageProblem`."""
    if is_scalable(topic):
        if partition is not None:
            raise UsageProblem("cannot use --partition with a scalable topic: it has segments")
        return scalable_topic(topic)
    return full_topic(topic) if partition is None else partition_name(topic, partition)


@contextmanager
def explained(call: Call, topic: str, partition: int | None) -> Iterator[None]:
    """Improves the error for a missing partition, if the admin API knows the number of partitions."""
    try:
        yield
    except NotFound as error:
        count = 0 if partition is None else _partitions(call, topic)
        if partition is None or not 0 < count <= partition:
            raise
        raise NotFound(
            f"{full_topic(topic)} has no partition {partition}: it has {count} partitions, numbered from 0",
            reason=error.reason,
            request=error.request,
        ) from error


def _partitions(call: Call, topic: str) -> int:
    try:
        return call.admin.topics.partitions(topic)
    except CliError:
        return 0
