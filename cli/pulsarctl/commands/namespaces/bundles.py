"""The bundles of a namespace: where to split them, and which topics they hold."""

from pulsarctl.errors import UsageProblem
from pulsarctl.requests.fields import NAMESPACE, OF_NAMESPACE, switch
from pulsarctl.requests.request import Field, In, Request, Shown, Values
from pulsarctl.shell.arguments import csv
from pulsarctl.shell.headings import Heading
from pulsarctl.values.choice import one_of
from pulsarctl.values.names import full_topic

PLACEMENT = Heading.PLACEMENT
ALGORITHMS = (
    "range_equally_divide",
    "topic_count_equally_divide",
    "specified_positions_divide",
    "flow_or_qps_equally_divide",
)
BUNDLE_TYPES = ("LARGEST", "HOT")


def _algorithm(text: str) -> str:
    return one_of(text, ALGORITHMS, "split algorithm")


def _boundaries(values: Values) -> list[int] | None:
    try:
        return [int(text, 0) for text in csv(values["boundaries"])] or None
    except ValueError as error:
        raise UsageProblem(
            f"a split boundary is not a number: {error}", hint="use -sb 0x40000000,0x80000000"
        ) from error


def _bundle_or_type(values: Values) -> None:
    if (values["bundle"] is None) == (values["bundle_type"] is None):
        raise UsageProblem("specify a bundle with -b or a kind of bundle with -bt, and not both")
    values["bundle"] = values["bundle"] or one_of(values["bundle_type"], BUNDLE_TYPES, "kind of bundle")


def _full_topics(text: str) -> str:
    return ",".join(full_topic(name) for name in csv([text]))


BUNDLE_ROWS = (
    Request(
        "split-bundle",
        "PUT",
        f"{OF_NAMESPACE}/{{bundle}}/split",
        "Split a bundle of a namespace in two or more.",
        "public/default -b 0x00000000_0x40000000",
        (
            NAMESPACE,
            Field("bundle", "Range of the bundle.", ("-b", "--bundle"), "BUNDLE", In.PATH, default=None),
            Field(
                "bundle_type",
                f"Kind of bundle to choose: {' or '.join(BUNDLE_TYPES)}.",
                ("-bt", "--bundle-type"),
                "KIND",
                In.NOWHERE,
                default=None,
                words=BUNDLE_TYPES,
            ),
            switch("unload", "unload", "Unload the new bundles.", "-u", "--unload", place=In.QUERY),
            Field(
                "algorithm",
                f"Where to split: {', '.join(ALGORITHMS)}.",
                ("-san", "--split-algorithm-name"),
                "NAME",
                In.QUERY,
                default=None,
                key="splitAlgorithmName",
                read=_algorithm,
                words=ALGORITHMS,
            ),
            Field(
                "boundaries",
                "Hashes at which to split, for specified_positions_divide.",
                ("-sb", "--split-boundaries"),
                "N,...",
                In.NOWHERE,
                list[str],
                None,
            ),
        ),
        heading=PLACEMENT,
        check=_bundle_or_type,
        body=_boundaries,
    ),
    Request(
        "get-topic-positions",
        "GET",
        f"{OF_NAMESPACE}/{{bundle}}/topicHashPositions",
        "Show the hashes of topics in a bundle.",
        "public/default -b 0x00000000_0x40000000",
        (
            NAMESPACE,
            Field("bundle", "Range of the bundle.", ("-b", "--bundle"), "BUNDLE"),
            Field(
                "topics",
                "Comma-separated list of topics. Default: all topics of the bundle.",
                ("-tl", "--topic-list"),
                "TOPIC,...",
                In.QUERY,
                default=None,
                read=_full_topics,
            ),
        ),
        Shown.VALUE,
        heading=PLACEMENT,
    ),
)
