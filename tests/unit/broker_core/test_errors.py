"""Every error has a code in the binary protocol and a status in the admin API."""

from broker_core.admin.results import result_of
from broker_core.errors import ConsumerBusy, ServerError
from broker_core.storage.errors import Closed
from broker_core.wire import pulsar_api_pb2 as pb


def test_the_codes_are_those_of_the_protocol() -> None:
    in_protocol = {name.lower(): int(number) for name, number in pb.ServerError.items()}
    assert {code.name.replace("_", "").lower(): int(code) for code in ServerError} == in_protocol


async def test_an_error_without_a_status_or_a_code_has_those_of_the_class_above_it() -> None:
    class NarrowerError(ConsumerBusy):
        pass

    async def refuse() -> None:
        raise NarrowerError("one consumer is connected")

    answer = await result_of(refuse(), "PUT topic")
    assert (answer.status, answer.body) == (412, b'{"reason":"one consumer is connected"}')
    assert NarrowerError.server_error is ServerError.CONSUMER_BUSY


async def test_a_change_that_an_unload_overtook_may_be_sent_again() -> None:
    async def change() -> None:
        raise Closed("cursor s was unloaded in the meantime")

    answer = await result_of(change(), "POST expireMessages")
    assert (answer.status, answer.body) == (503, b'{"reason":"cursor s was unloaded in the meantime; try again"}')
