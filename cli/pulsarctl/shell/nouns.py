"""The top-level commands with their summaries, and their aliases."""

COMMANDS = {
    "standalone": "Run a broker on this machine.",
    "produce": "Publish messages from arguments, files, or stdin.",
    "consume": "Subscribe to a topic, and print and acknowledge its messages.",
    "read": "Print messages without a subscription.",
    "topics": "Create, inspect, compact, and delete topics, and manage their subscriptions and policies.",
    "subscriptions": "Create, list, move, and delete the subscriptions of a topic.",
    "topicPolicies": "Get, set, and remove the policies of a topic.",
    "schemas": "Show, upload, and delete the schemas of topics.",
    "namespaces": "Create, list, and delete namespaces, and manage their policies.",
    "tenants": "Create, list, and delete tenants.",
    "clusters": "List and show clusters.",
    "brokers": "List brokers and check their health.",
    "context": "Manage contexts: named sets of addresses and credentials.",
    "ops": "Run large jobs on Spark.",
    "storage": "Inspect and repair the files of a data directory.",
    "completion": "Print the completion script of a shell.",
    "version": "Show the versions of pulsarctl, Python, and the broker.",
}
MODULE_OF = {"topicPolicies": "topic_policies", "context": "contexts", "complete-names": "complete_names"}
HIDDEN = ("complete-names",)  # what the completion scripts call
ALIASES = {
    "topic": "topics",
    "subscription": "subscriptions",
    "subs": "subscriptions",
    "sub": "subscriptions",
    "namespace": "namespaces",
    "tenant": "tenants",
    "properties": "tenants",
    "cluster": "clusters",
    "broker": "brokers",
    "ctx": "context",
    "profile": "context",
}
