"""The settings of a producer or consumer, as arguments of the official client."""

from typing import Any

import _pulsar
import pulsar

from pulsarctl.admin.schemas import SchemaInfo
from pulsarctl.client.publish_options import PublishOptions
from pulsarctl.client.subscribe_options import DeadLetters, KeySharing, SubscribeOptions

COMPRESSION_TYPES = {
    "none": pulsar.CompressionType.NONE,
    "lz4": pulsar.CompressionType.LZ4,
    "zlib": pulsar.CompressionType.ZLib,
    "zstd": pulsar.CompressionType.ZSTD,
    "snappy": pulsar.CompressionType.SNAPPY,
}
_ACCESS = {
    "shared": pulsar.ProducerAccessMode.Shared,
    "exclusive": pulsar.ProducerAccessMode.Exclusive,
    "exclusivewithfencing": pulsar.ProducerAccessMode.ExclusiveWithFencing,
    "waitforexclusive": pulsar.ProducerAccessMode.WaitForExclusive,
}
_TYPES = {
    "exclusive": pulsar.ConsumerType.Exclusive,
    "shared": pulsar.ConsumerType.Shared,
    "failover": pulsar.ConsumerType.Failover,
    "key_shared": pulsar.ConsumerType.KeyShared,
}
_PATTERN_MODES = {
    "persistent": pulsar.RegexSubscriptionMode.PersistentOnly,
    "non-persistent": pulsar.RegexSubscriptionMode.NonPersistentOnly,
    "all": pulsar.RegexSubscriptionMode.AllTopics,
}


class EncodedAlready(pulsar.schema.Schema):  # type: ignore[misc]  # the client ships no types
    """A schema for messages that are already encoded."""

    def __init__(self, schema: SchemaInfo) -> None:
        super().__init__(bytes, getattr(_pulsar.SchemaType, schema.type), None, schema.type)
        self._schema_info = _pulsar.SchemaInfo(getattr(_pulsar.SchemaType, schema.type), schema.type, schema.definition)

    def encode(self, obj: bytes) -> bytes:
        return obj

    def decode(self, data: bytes) -> bytes:
        return data


def producer_settings(options: PublishOptions) -> dict[str, Any]:
    """The arguments of `Client.create_producer`, except the topic."""
    settings: dict[str, Any] = {
        "producer_name": options.producer_name,
        "initial_sequence_id": None if options.first_sequence_id is None else options.first_sequence_id - 1,
        "access_mode": _ACCESS[options.access_mode],
        "send_timeout_millis": options.send_timeout_ms,
        "compression_type": COMPRESSION_TYPES[options.compression],
        "max_pending_messages": options.pending_messages_max,
        "batching_enabled": options.batching and not options.chunking,
        "batching_max_messages": options.batch_messages_max,
        "batching_max_allowed_size_in_bytes": options.batch_bytes_max,
        "batching_max_publish_delay_ms": options.batch_delay_ms,
        "chunking_enabled": options.chunking,
    }
    if options.schema is not None:
        settings["schema"] = EncodedAlready(options.schema)
    if options.encryption_key_name and options.encryption_key_path:
        settings["encryption_key"] = options.encryption_key_name
        settings["crypto_key_reader"] = pulsar.CryptoKeyReader(options.encryption_key_path, "")
    return settings


def consumer_settings(options: SubscribeOptions) -> dict[str, Any]:
    """The arguments of `Client.subscribe`, except the topic and the name of the subscription."""
    position = pulsar.InitialPosition.Earliest if options.from_earliest else pulsar.InitialPosition.Latest
    settings: dict[str, Any] = {
        "consumer_type": _TYPES[options.subscription_type],
        "consumer_name": options.consumer_name,
        "initial_position": position,
        "receiver_queue_size": options.queue_size,
        "properties": dict(options.properties) or None,
        "negative_ack_redelivery_delay_ms": options.nack_delay_ms,
        "unacked_messages_timeout_ms": options.ack_timeout_ms or None,
        "dead_letter_policy": _dead_letters(options.dead_letters),
        "replicate_subscription_state_enabled": options.replicated,
        "is_read_compacted": options.compacted,
        "max_pending_chunked_message": options.max_chunked_messages or 10,
        "auto_ack_oldest_chunked_message_on_queue_full": options.ack_oldest_chunked,
        "batch_index_ack_enabled": True,  # without it, a batch is redelivered until all its messages are acknowledged
        "start_message_id_inclusive": True,  # a seek to a message includes that message
    }
    if options.pattern_mode:
        settings["regex_subscription_mode"] = _PATTERN_MODES[options.pattern_mode]
    if options.subscription_type == "key_shared":
        settings["key_shared_policy"] = _key_sharing(options.key_sharing)
    # The client would silently keep such a message; `messaging.Subscriber` does what the user chose.
    settings["crypto_failure_action"] = pulsar.ConsumerCryptoFailureAction.CONSUME
    if options.decryption_key_path:
        settings["crypto_key_reader"] = pulsar.CryptoKeyReader("", options.decryption_key_path)
    return settings


def _dead_letters(policy: DeadLetters | None) -> Any:
    return None if policy is None else pulsar.ConsumerDeadLetterPolicy(policy.max_redeliveries, policy.topic)


def _key_sharing(sharing: KeySharing) -> Any:
    mode = pulsar.KeySharedMode.Sticky if sharing.hash_ranges else pulsar.KeySharedMode.AutoSplit
    return pulsar.ConsumerKeySharedPolicy(mode, sharing.allow_out_of_order, list(sharing.hash_ranges) or None)
