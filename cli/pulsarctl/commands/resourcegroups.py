"""`pulsarctl resourcegroups`: limits that several namespaces share."""

from pulsarctl.requests.fields import integer
from pulsarctl.requests.installing import install_requests
from pulsarctl.requests.request import Field, Request, Shown
from pulsarctl.shell.grammar import Noun

app = Noun("resourcegroups", "Create, list, and delete resource groups: limits that namespaces share.")

GROUP = Field("group", "Name of the resource group.", metavar="GROUP")
_GROUP = "resourcegroups/{group}"
LIMITS = (
    GROUP,
    integer("mp", "publishRateInMsgs", "Published messages per second.", "-mp", "--msg-publish-rate"),
    integer("bp", "publishRateInBytes", "Published bytes per second.", "-bp", "--byte-publish-rate"),
    integer("md", "dispatchRateInMsgs", "Delivered messages per second.", "-md", "--msg-dispatch-rate"),
    integer("bd", "dispatchRateInBytes", "Delivered bytes per second.", "-bd", "--byte-dispatch-rate"),
)

install_requests(
    app,
    (
        Request("list", "GET", "resourcegroups", "List the resource groups.", "", (), Shown.NAMES, column="GROUP"),
        Request("get", "GET", _GROUP, "Show the limits of a resource group.", "tier1", (GROUP,), Shown.VALUE),
        Request("create", "PUT", _GROUP, "Create a resource group.", "tier1 -mp 1000 -md 5000", LIMITS),
        Request(
            "update", "PUT", _GROUP, "Change limits of a resource group, and keep the others.", "tier1 -mp 2000", LIMITS
        ),
        Request(
            "delete",
            "DELETE",
            _GROUP,
            "Delete a resource group that no namespace uses.",
            "tier1",
            (GROUP,),
            question="Delete resource group {group}?",
        ),
    ),
)
