"""The policies that limit rates."""

from typing import Annotated

import typer

from pulsarctl.policies import values
from pulsarctl.policies.flags import Document, number
from pulsarctl.policies.policy import Policy, PolicySelector
from pulsarctl.shell.call import Call
from pulsarctl.shell.headings import Heading
from pulsarctl.values.names import subscription_segment

MsgRate = Annotated[
    int, number("-md", "--msg-dispatch-rate", "--msg-rate", "-m", help="Messages per period; -1 means no limit.")
]
ByteRate = Annotated[
    int, number("-bd", "--byte-dispatch-rate", "--byte-rate", "-b", help="Bytes per period; -1 means no limit.")
]
Period = Annotated[
    int, number("-dt", "--dispatch-rate-period", "--period", "-p", help="Length of the period in seconds.")
]
Relative = Annotated[
    bool, typer.Option("-rp", "--relative-to-publish-rate", help="Add the current publish rate to the limit.")
]


def publish_rate(
    call: Call,
    *,
    messages: Annotated[
        int, number("-m", "--msg-publish-rate", "--msg-rate", help="Messages per second; -1 means no limit.")
    ] = -1,
    size: Annotated[
        int, number("-b", "--byte-publish-rate", "--byte-rate", help="Bytes per second; -1 means no limit.")
    ] = -1,
) -> Document:
    """Limit the rate of publishing to each topic."""
    return {"publishThrottlingRateInMsg": messages, "publishThrottlingRateInByte": size}


def dispatch_rate(
    call: Call, *, messages: MsgRate = -1, size: ByteRate = -1, period: Period = 1, relative: Relative = False
) -> Document:
    """Limit the rate of delivery to consumers."""
    return {
        "dispatchThrottlingRateInMsg": messages,
        "dispatchThrottlingRateInByte": size,
        "relativeToPublishRate": relative,
        "ratePeriodInSecond": period,
    }


def subscribe_rate(
    call: Call,
    *,
    rate: Annotated[
        int, number("-sr", "--subscribe-rate", "-m", help="Number of subscribe requests; -1 means no limit.")
    ] = -1,
    period: Annotated[
        int, number("-st", "--subscribe-rate-period", "--period", "-p", help="Length of the period in seconds.")
    ] = 30,
) -> Document:
    """Limit how often each consumer may subscribe."""
    return {"subscribeThrottlingRatePerConsumer": rate, "ratePeriodInSecond": period}


OfSubscription = Annotated[
    str | None,
    typer.Option("-s", "--subscription", metavar="SUBSCRIPTION", help="Apply to one subscription only."),
]
OF_ONE_SUBSCRIPTION = PolicySelector(
    "of_subscription",
    OfSubscription,
    None,
    lambda path, name: (path if name is None else f"{subscription_segment(name)}/dispatchRate", {}),
)


PUBLISH_RATE = Policy(
    Heading.RATES,
    "publish-rate",
    "publishRate",
    publish_rate,
    "-m 1000",
    value=values.PUBLISH_RATE,
    document="publishMaxMessageRate/{cluster}",
)
DISPATCH_RATE = Policy(
    Heading.RATES,
    "dispatch-rate",
    "dispatchRate",
    dispatch_rate,
    "-md 1000",
    value=values.DISPATCH_RATE,
    document="topicDispatchRate/{cluster}",
)
REPLICATOR_DISPATCH_RATE = Policy(
    Heading.RATES,
    "replicator-dispatch-rate",
    "replicatorDispatchRate",
    dispatch_rate,
    "-md 1000",
    summary="Limit the rate of replication to other clusters.",
    value=values.DISPATCH_RATE,
    document="replicatorDispatchRate/{cluster}",
)
SUBSCRIBE_RATE = Policy(
    Heading.RATES,
    "subscribe-rate",
    "subscribeRate",
    subscribe_rate,
    "-sr 10",
    value=values.SUBSCRIBE_RATE,
    document="clusterSubscribeRate/{cluster}",
)

OF_NAMESPACES = (
    PUBLISH_RATE,
    DISPATCH_RATE,
    Policy(
        Heading.RATES,
        "subscription-dispatch-rate",
        "subscriptionDispatchRate",
        dispatch_rate,
        "-md 1000",
        summary="Limit the rate of delivery to each subscription.",
        value=values.DISPATCH_RATE,
        document="subscriptionDispatchRate/{cluster}",
    ),
    REPLICATOR_DISPATCH_RATE,
    SUBSCRIBE_RATE,
)
OF_TOPICS = (
    PUBLISH_RATE,
    DISPATCH_RATE,
    Policy(
        Heading.RATES,
        "subscription-dispatch-rate",
        "subscriptionDispatchRate",
        dispatch_rate,
        "-md 1000 -s billing",
        summary="Limit the rate of delivery to each subscription.",
        choice=OF_ONE_SUBSCRIPTION,
        value=values.DISPATCH_RATE,
    ),
    REPLICATOR_DISPATCH_RATE,
    SUBSCRIBE_RATE,
)
