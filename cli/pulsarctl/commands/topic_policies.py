"""`pulsarctl topicPolicies`: the policy verbs of `topics` under the name of pulsar-admin."""

from pulsarctl.shell.grammar import Noun
from pulsarctl.verbs.policies.installing import install_topic_policies

app = Noun("topicPolicies", "Get, set, and remove the policies of a topic.")
install_topic_policies(app)
