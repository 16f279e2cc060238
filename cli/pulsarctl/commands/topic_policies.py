"""`pulsarctl topicPolicies`: the policy verbs of `topics` under pulsar-admin's other name."""

from pulsarctl.shell.grammar import Noun
from pulsarctl.verbs.policies import install_topic_policies
from pulsarctl.verbs.schema_policies import install_schema_policies_of_topics

app = Noun("topicPolicies", "Policies of single topics.")
install_topic_policies(app)
install_schema_policies_of_topics(app)
