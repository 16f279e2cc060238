"""Scalable topics, which brokers have since Pulsar 5.0: in files, on a broker, and as requests.

Properties and the number of segments are what a new topic gets. Pulsar cannot change the properties of one, and the
broker changes the number of segments by itself.
"""

from typing import Any

from pulsarctl.admin.client import AdminClient
from pulsarctl.admin.scalable_topics import ROOT
from pulsarctl.errors import NotFound
from pulsarctl.policies.values import AUTO_SCALE
from pulsarctl.state.settings import Setting
from pulsarctl.values.names import scalable_path

SECTION = "scalable-topics"
KIND = "scalable topic"
SEGMENTS = "segments"
POLICY = "auto-scale-policy"
POLICIES = {POLICY: Setting(POLICY, AUTO_SCALE, "autoScalePolicy", "When the broker splits and merges the segments.")}
Document = dict[str, Any]


def read(admin: AdminClient, name: str) -> Document | None:
    """None for a topic that does not exist; a milestone of Pulsar 5.0 lists some of them."""
    try:
        metadata = admin.scalable_topics.metadata(name)
    except NotFound:
        return None
    policy = POLICIES[POLICY].from_broker(metadata.get("autoScalePolicy"), "")
    active = [one for one in metadata["segments"].values() if one["state"] == "ACTIVE"]
    return {
        SEGMENTS: len(active),
        "properties": dict(sorted((metadata.get("properties") or {}).items())),
        "policies": {POLICY: policy} if policy else {},
    }


def refusal(name: str, declared: Document, live: Document) -> str | None:
    """Why the topic cannot become what is declared."""
    properties = declared.get("properties")
    if properties is None or properties == live["properties"]:
        return None
    return (
        f"scalable topic {name} has other properties, and Pulsar cannot change them: delete it first, with its messages"
    )


def base(name: str) -> str:
    """The path of its policies."""
    return f"{ROOT}/{scalable_path(name)}"
