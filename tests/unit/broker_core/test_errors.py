"""Every error has a code in the binary protocol and a status in the admin API."""

from collections.abc import Iterator

from broker_core.admin.results import result_of
from broker_core.admin.statuses import STATUSES, status_of
from broker_core.errors import BrokerError, InvalidConfiguration, NotFound, ServerError
from broker_core.storage.errors import Closed
from broker_core.wire import pulsar_api_pb2 as pb


def all_errors(of: type[BrokerError] = BrokerError) -> Iterator[type[BrokerError]]:
    for kind in of.__subclasses__():
        if kind.__module__.startswith("broker_core."):
            yield kind
            yield from all_errors(kind)


def test_the_codes_are_those_of_the_protocol() -> None:
    in_protocol = {name.lower(): int(number) for name, number in pb.ServerError.items()}
    assert {code.name.replace("_", "").lower(): int(code) for code in ServerError} == in_protocol


def test_every_error_that_a_client_can_see_has_a_status() -> None:
    visible = [kind for kind in all_errors() if not issubclass(kind, InvalidConfiguration)]
    unknown = [kind for kind in visible if not any(known in STATUSES for known in kind.__mro__)]
    assert unknown == [], "add the error to broker_core.admin.statuses"


def test_an_error_without_a_status_has_that_of_the_class_above_it() -> None:
    class NarrowerError(NotFound):
        pass

    assert status_of(NarrowerError()) == STATUSES[NotFound]


async def test_a_change_that_an_unload_overtook_may_be_sent_again() -> None:
    async def change() -> None:
        raise Closed("cursor s was unloaded in the meantime")

    answer = await result_of(change(), "POST expireMessages")
    assert (answer.status, answer.body) == (503, b'{"reason":"cursor s was unloaded in the meantime; try again"}')
