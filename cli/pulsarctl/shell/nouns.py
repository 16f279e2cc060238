"""The commands of the program, each with its summary, and the other spellings that find them."""

COMMANDS = {
    "standalone": "Run a broker on this machine.",
    "produce": "Publish messages from arguments, files or stdin.",
    "consume": "Subscribe, print and acknowledge messages.",
    "read": "Print messages without a subscription.",
    "topics": "Create, list, inspect, compact and delete topics; their subscriptions and policies.",
    "subscriptions": "List, create, move and delete subscriptions of a topic.",
    "topicPolicies": "Policies of single topics.",
    "schemas": "Show, upload and delete the schemas of topics.",
    "namespaces": "Create, list and delete namespaces; their policies.",
    "tenants": "Create, list and delete tenants.",
    "clusters": "List and show clusters.",
    "brokers": "List brokers and check their health.",
    "context": "Named sets of addresses and credentials, shared with the Go tool.",
    "ops": "Heavy jobs on Spark.",
    "storage": "Look into the files of a data directory.",
    "completion": "Print the completion script of a shell.",
    "version": "Versions of this tool and of the broker.",
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
