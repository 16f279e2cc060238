"""`pulsarctl ns-isolation-policy`: which brokers serve which namespaces."""

from typing import Any

from pulsarctl.requests.fields import CLUSTER, names
from pulsarctl.requests.installing import install_requests
from pulsarctl.requests.request import Field, In, Request, Shown, Values
from pulsarctl.shell.arguments import csv, pairs
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.choice import one_of

app = Noun("ns-isolation-policy", "Control which brokers serve which namespaces.")

POLICY = Field("policy", "Name of the policy.", metavar="POLICY")
POLICIES = "clusters/{cluster}/namespaceIsolationPolicies"
SCOPES = ("all_matching", "none", "changed")


def _body(values: Values) -> dict[str, Any]:
    body = {
        "namespaces": csv(values["namespaces"]),
        "primary": csv(values["primary"]),
        "secondary": csv(values["secondary"]),
        "auto_failover_policy": {
            "policy_type": values["failover"],
            "parameters": pairs(csv(values["parameters"])),
        },
    }
    scope = values["scope"]
    return body if scope is None else body | {"unload_scope": one_of(scope, SCOPES, "scope")}


install_requests(
    app,
    (
        Request(
            "set",
            "POST",
            f"{POLICIES}/{{policy}}",
            "Create or replace an isolation policy.",
            "standalone apart --namespaces 'public/.*' --primary 'broker1.*' --auto-failover-policy-type min_available"
            " --auto-failover-policy-params min_limit=1,usage_threshold=80",
            (
                CLUSTER,
                POLICY,
                names(
                    "namespaces",
                    "Comma-separated regular expressions for namespaces.",
                    "--namespaces",
                    place=In.NOWHERE,
                ),
                names("primary", "Comma-separated regular expressions for brokers.", "--primary", place=In.NOWHERE),
                names(
                    "secondary",
                    "Brokers to use if the primary ones are not available.",
                    "--secondary",
                    place=In.NOWHERE,
                    default=None,
                ),
                Field(
                    "failover",
                    "When to use the secondary brokers: min_available.",
                    ("--auto-failover-policy-type",),
                    "TYPE",
                    In.NOWHERE,
                    words=("min_available",),
                ),
                names(
                    "parameters",
                    "Comma-separated KEY=VALUE for the failover: min_limit and usage_threshold.",
                    "--auto-failover-policy-params",
                    place=In.NOWHERE,
                ),
                Field(
                    "scope",
                    f"Which namespaces to unload afterwards: {', '.join(SCOPES)}.",
                    ("--unload-scope",),
                    "SCOPE",
                    In.NOWHERE,
                    default=None,
                    words=SCOPES,
                ),
            ),
            body=_body,
        ),
        Request(
            "get", "GET", f"{POLICIES}/{{policy}}", "Show a policy.", "standalone apart", (CLUSTER, POLICY), Shown.VALUE
        ),
        Request("list", "GET", POLICIES, "Show the policies of a cluster.", "standalone", (CLUSTER,), Shown.VALUE),
        Request(
            "delete",
            "DELETE",
            f"{POLICIES}/{{policy}}",
            "Delete a policy.",
            "standalone apart",
            (CLUSTER, POLICY),
            question="Delete isolation policy {policy} of cluster {cluster}?",
        ),
        Request(
            "brokers",
            "GET",
            f"{POLICIES}/brokers",
            "Show the policies that apply to each broker.",
            "standalone",
            (CLUSTER,),
            Shown.VALUE,
        ),
        Request(
            "broker",
            "GET",
            f"{POLICIES}/brokers/{{broker}}",
            "Show the policies that apply to a broker.",
            "standalone --broker localhost:8080",
            (CLUSTER, Field("broker", "Address of the broker, as HOST:PORT.", ("--broker",), "BROKER")),
            Shown.VALUE,
        ),
    ),
)
