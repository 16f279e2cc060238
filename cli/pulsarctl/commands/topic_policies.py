"""`pulsarctl topicPolicies`: the policy verbs of `topics` under pulsar-admin's other name."""

from pulsarctl.grammar import Noun
from pulsarctl.policies import install_topic_policies
from pulsarctl.schema_policies import install_schema_policies_of_topics

app = Noun("topicPolicies", "Policies of single topics.")
install_topic_policies(app)
install_schema_policies_of_topics(app)
