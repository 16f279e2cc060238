"""The section of the configuration that bounds what one command of a client may carry (`wire.bounds` has the table)."""

from dataclasses import dataclass

from broker_core.config.setting import MB, setting


@dataclass(frozen=True, slots=True)
class CommandConfig:
    max_bytes: int = setting(
        "maxCommandSizeInBytes",
        2 * MB,
        "Largest command without the message that it carries (bytes); a larger one closes the connection.",
        least=64 * 1024,
    )
    max_name_length: int = setting(
        "maxNameLength",
        1024,
        "Longest name of a topic, namespace, subscription, producer, consumer or schema (characters).",
        least=64,
    )
    max_properties: int = setting(
        "maxPropertiesSizeInBytes",
        64 * 1024,
        "Most metadata of a producer, most properties of a subscription or of a request (characters).",
        least=0,
    )
    max_message_ids: int = setting(
        "maxMessageIdsPerCommand",
        20_000,
        "Most message IDs in one acknowledgment; one of part of a batch counts as four, one to redeliver as a third.",
        least=1000,
    )
    max_hash_ranges: int = setting(
        "maxHashRangesPerConsumer", 4096, "Most ranges of hashes of a sticky Key_Shared consumer.", least=1
    )
    max_batch_messages: int = setting(
        "maxMessagesPerBatch", 100_000, "Most messages that an entry may claim to hold.", least=1
    )
