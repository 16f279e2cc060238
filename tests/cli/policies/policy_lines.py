"""Every policy: its name in the verbs, flags to set it, and how it is shown on one line."""

RATE = (
    '{"dispatchThrottlingRateInMsg":%d,"dispatchThrottlingRateInByte":%d,"relativeToPublishRate":%s,'
    '"ratePeriodInSecond":%d}'
)
COPIES = (
    '{"bookkeeperEnsemble":3,"bookkeeperWriteQuorum":2,"bookkeeperAckQuorum":1,"managedLedgerMaxMarkDeleteRate":0.5}'
)
INACTIVE = (
    '{"inactiveTopicDeleteMode":"delete_when_subscriptions_caught_up","maxInactiveDurationSeconds":3600,'
    '"deleteWhileInactive":true}'
)
QUOTA = '{"destination_storage":{"limit":%d,"limitSize":%d,"limitTime":%d,"policy":"%s"}}'

# Policies that namespaces and topics have: the policy, its flags, and how it is shown on one line.
BOTH = [
    ("backlog-quota", "-l 10M -p producer_exception", QUOTA % (10 << 20, 10 << 20, -1, "producer_exception")),
    ("persistence", "-e 3 -w 2 -a 1 -r 0.5", COPIES),
    ("deduplication", "--enable", "true"),
    ("deduplication", "-d", "false"),
    ("deduplication-snapshot-interval", "-i 60", "60"),
    ("delayed-delivery", "-e -t 250ms -md 1h", '{"tickTime":250,"active":true,"maxDeliveryDelayInMillis":3600000}'),
    ("delayed-delivery", "-d", '{"tickTime":1000,"active":false,"maxDeliveryDelayInMillis":0}'),
    ("inactive-topic-policies", "-e -t 1h -m delete_when_subscriptions_caught_up", INACTIVE),
    ("publish-rate", "-m 100 -b 1000", '{"publishThrottlingRateInMsg":100,"publishThrottlingRateInByte":1000}'),
    ("dispatch-rate", "-md 5 -bd 6 -dt 7 -rp", RATE % (5, 6, "true", 7)),
    ("subscription-dispatch-rate", "--msg-rate 5", RATE % (5, -1, "false", 1)),
    ("replicator-dispatch-rate", "-b 5 -p 2", RATE % (-1, 5, "false", 2)),
    ("subscribe-rate", "-sr 3 -st 60", '{"subscribeThrottlingRatePerConsumer":3,"ratePeriodInSecond":60}'),
    ("max-consumers-per-subscription", "-c 5", "5"),
    ("max-unacked-messages-per-consumer", "--max-unacked-messages-per-topic 5", "5"),
    ("max-unacked-messages-per-subscription", "-c 5", "5"),
    ("subscription-types-enabled", "-t Key_Shared", '"Key_Shared"'),
    ("auto-subscription-creation", "--enable", '{"allowAutoSubscriptionCreation":true}'),
    ("dispatcher-pause-on-ack-state-persistent", "", "true"),
    ("auto-subscription-creation", "", '{"allowAutoSubscriptionCreation":false}'),
]
EXPIRATION = [
    ("subscription-expiration-time", "-t 5", "5"),
    ("subscription-expiration-time", "-t 7d", "10080"),
    ("subscription-expiration-time", "-t 30s", "1"),
]
OF_NAMESPACES = [
    ("max-producers-per-topic", "-p 5", "5"),
    ("max-consumers-per-topic", "-c 5", "5"),
    ("max-subscriptions-per-topic", "-m 5", "5"),
    ("max-topics-per-namespace", "-t 5", "5"),
    (
        "auto-topic-creation",
        "-e -t partitioned -n 4",
        '{"allowAutoTopicCreation":true,"topicType":"partitioned","defaultNumPartitions":4}',
    ),
    ("topic-auto-creation", "--disable", '{"allowAutoTopicCreation":false,"topicType":"non-partitioned"}'),
    ("encryption-required", "-e", "true"),
    *EXPIRATION,
]
OF_TOPICS = [
    ("replication-clusters", "-c standalone", '"standalone"'),
    ("max-producers", "-p 5", "5"),
    ("maxProducers", "-p 5", "5"),
    ("max-consumers", "-c 5", "5"),
    ("max-subscriptions", "-m 5", "5"),
    ("max-subscriptions-per-topic", "-s 5", "5"),
    ("max-unacked-messages-on-consumer", "-m 5", "5"),
    ("max-unacked-messages-per-subscription", "--maxNum 5", "5"),
    ("max-message-size", "-m 1M", "1048576"),
]
# Those of Pulsar 4.2 and later.
NEW_OF_NAMESPACES = [("allowed-topic-property-keys-for-metrics", "-k owner", '"owner"')]
NEW_OF_TOPICS = EXPIRATION
