"""The section of the configuration that bounds the contents of one client command (`wire.bounds` has the table)."""

from broker_core.config.frozen import frozen
from broker_core.config.setting import MB, setting


@frozen
class CommandConfig:
    """Bounds of one client command."""

    max_bytes: int = setting(
        "maxCommandSizeInBytes",
        2 * MB,
        "Maximum size of a command without its message (bytes); the broker closes the connection of a larger one.",
        least=64 * 1024,
    )
    max_name_length: int = setting(
        "maxNameLength",
        1024,
        "Maximum length of a topic, namespace, subscription, producer, consumer, or schema name (characters).",
        least=64,
    )
    max_properties: int = setting(
        "maxPropertiesSizeInBytes",
        64 * 1024,
        "Maximum size of a producer's metadata and of a subscription's or request's properties (characters).",
        least=0,
    )
    max_message_ids: int = setting(
        "maxMessageIdsPerCommand",
        20_000,
        "Maximum number of message IDs per acknowledgment; an ID with part of a batch counts 4, a redelivery ID 1/3.",
        least=1000,
    )
    max_hash_ranges: int = setting(
        "maxHashRangesPerConsumer", 4096, "Maximum number of hash ranges of a sticky Key_Shared consumer.", least=1
    )
    max_batch_messages: int = setting("maxMessagesPerBatch", 100_000, "Maximum number of messages per batch.", least=1)
