"""`pulsarctl resource-quotas`: the load that a bundle is expected to cause."""

from pulsarctl.errors import UsageProblem
from pulsarctl.requests.installing import install_requests
from pulsarctl.requests.request import Field, In, Request, Shown, Values
from pulsarctl.shell.grammar import Noun

app = Noun("resource-quotas", "Show and set the expected load of bundles.")

QUOTAS = "resource-quotas"


def _rate(name: str, key: str, help: str, *spellings: str) -> Field:
    return Field(name, help, spellings, "N", In.BODY, float, 0.0, key)


def _named(default: object = None) -> tuple[Field, Field]:
    return (
        Field("namespace", "Name of the namespace.", ("-n", "--namespace"), "NAMESPACE", In.PATH, str, default),
        Field("bundle", "Range of the bundle.", ("-b", "--bundle"), "BUNDLE", In.PATH, str, default),
    )


def _both_or_none(values: Values) -> None:
    if (values["namespace"] is None) != (values["bundle"] is None):
        raise UsageProblem("specify both --namespace and --bundle, or neither for the default quota")
    values["of"] = "bundle" if values["bundle"] else ""


RATES = (
    _rate("rate_in", "msgRateIn", "Published messages per second.", "-mi", "--msgRateIn"),
    _rate("rate_out", "msgRateOut", "Delivered messages per second.", "-mo", "--msgRateOut"),
    _rate("bandwidth_in", "bandwidthIn", "Published bytes per second.", "-bi", "--bandwidthIn"),
    _rate("bandwidth_out", "bandwidthOut", "Delivered bytes per second.", "-bo", "--bandwidthOut"),
    _rate("memory", "memory", "Memory in MB.", "-mem", "--memory"),
    Field("dynamic", "Let the broker adjust the quota.", ("-d", "--dynamic"), "", In.BODY, bool, False),
)

install_requests(
    app,
    (
        Request(
            "get",
            "GET",
            QUOTAS,
            "Show the quota of a bundle, or the default quota.",
            "-n public/default -b 0x00000000_0x40000000",
            _named(),
            Shown.VALUE,
            check=_both_or_none,
            ending="{namespace}/{bundle}",
        ),
        Request(
            "set",
            "POST",
            QUOTAS,
            "Set the quota of a bundle, or the default quota.",
            "-mi 100 -mo 200 -bi 10000 -bo 20000 -mem 50",
            (*_named(), *RATES),
            check=_both_or_none,
            ending="{namespace}/{bundle}",
        ),
        Request(
            "reset-namespace-bundle-quota",
            "DELETE",
            QUOTAS + "/{namespace}/{bundle}",
            "Apply the default quota to a bundle again.",
            "-n public/default -b 0x00000000_0x40000000",
            _named(...),
        ),
    ),
)
