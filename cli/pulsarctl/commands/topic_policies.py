"""`pulsarctl topicPolicies`: the policy verbs of `topics` under the name of pulsar-admin."""

from pulsarctl.policies.installing import install_topic_policies
from pulsarctl.requests.fields import TOPIC
from pulsarctl.requests.installing import install_requests
from pulsarctl.requests.request import Request
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.headings import Heading

app = Noun("topicPolicies", "Get, set, and remove the policies of a topic.")
install_requests(
    app,
    (
        Request(
            "delete",
            "DELETE",
            "{topic}/policies",
            "Remove all policies of a topic.",
            "orders --yes",
            (TOPIC,),
            heading=Heading.LIFECYCLE,
            question="Remove all policies of {topic}?",
        ),
    ),
)
install_topic_policies(app)
