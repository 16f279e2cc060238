"""Publishing to one scalable topic, through our own connections: the official client does not support it."""

import secrets
from collections.abc import Callable

from pulsarctl.client.publish_options import PublishOptions
from pulsarctl.client.publish_window import Refusal
from pulsarctl.client.reachability import check_answers
from pulsarctl.errors import CliError
from pulsarctl.raw.outgoing_entry import ProducerSettings, message_of
from pulsarctl.raw.scalable.segment_producer import MessageTooLarge
from pulsarctl.raw.scalable.segments_producer import SegmentsProducer
from pulsarctl.raw.topic_lookup import TopicLookup
from pulsarctl.settings.settings import Settings


class ScalablePublisher:
    """A publisher for `Sending`. `rate`: messages that come at a rate are not batched, so that none waits."""

    def __init__(
        self, settings: Settings, topic: str, options: PublishOptions, rate: float, timeout_seconds: float
    ) -> None:
        """Raises what connecting raises, or the broker's refusal of the topic."""
        check_answers(settings, timeout_seconds)
        self._settings = settings
        self._timeout_seconds = timeout_seconds
        self._options = options
        self.is_refused = False
        self.refusal: Refusal | None = None
        self._has_failed = False
        producer_settings = ProducerSettings(
            name=options.producer_name or f"pulsarctl-{secrets.token_hex(6)}",
            schema=options.schema,
            compression=options.compression,
            batching=options.batching and not rate,
            disable_replication=options.disable_replication,
        )
        self._producer = SegmentsProducer(self._lookup, topic, producer_settings, timeout_seconds)

    @property
    def lanes(self) -> "ScalablePublisher":
        return self

    @property
    def sent(self) -> int:
        return self._producer.sent

    @property
    def acknowledged(self) -> int:
        return self._producer.acknowledged

    @property
    def acknowledged_in_order(self) -> int:
        return self._producer.acknowledged_in_order

    def send(self, value: bytes | None, key: str | None = None) -> None:
        """Sends one message; None is a tombstone. Sets `is_refused` if one is too large. Raises `CliError`."""
        options = self._options
        message = message_of(value, key, options.ordering_key, options.properties, options.event_time_ms or None)
        self._run(lambda: self._producer.send(message, key, options.deliver_at_ms or None))

    def pause(self) -> None:
        """Returns when the broker has stored every message, so that none waits here. Raises as `send` does."""
        self._run(self._producer.flush)

    def finish(self) -> None:
        """Returns when the broker has stored every message, or those that it can after a failure."""
        if self.is_refused:
            self._producer.flush_others()
        elif self._has_failed:
            self.drain(self._timeout_seconds, [])
        else:
            self.pause()

    def drain(self, seconds: float, errors: list[str]) -> bool:
        """Whether the broker has stored all messages; gives up after `seconds` without another receipt."""
        return self._producer.await_receipts(seconds)

    def problem(self, result: str, action: str) -> CliError:
        return CliError(f"cannot {action}: {result}")

    def close(self) -> None:
        self._producer.close()

    def _run(self, action: Callable[[], None]) -> None:
        try:
            action()
        except MessageTooLarge as error:
            self.is_refused = True
            self.refusal = Refusal(error.position, error.size, "MessageTooBig")
        except CliError:
            self._has_failed = True
            raise

    def _lookup(self) -> TopicLookup:
        return TopicLookup(self._settings.service_url, timeout_seconds=self._timeout_seconds, security=self._settings)
