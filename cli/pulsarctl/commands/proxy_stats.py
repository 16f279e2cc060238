"""`pulsarctl proxy-stats`: what a Pulsar proxy serves. Use the admin URL of the proxy."""

from pulsarctl.requests.installing import install_requests
from pulsarctl.requests.request import Field, In, Request, Shown
from pulsarctl.shell.grammar import Noun

app = Noun("proxy-stats", "Show the connections and the topics of a Pulsar proxy.")
INDENT = Field(
    "indent",
    "Accepted and ignored: JSON is always indented.",
    ("-i", "--indent"),
    "",
    In.NOWHERE,
    bool,
    False,
    hidden=True,
)

install_requests(
    app,
    (
        Request(
            "connections",
            "GET",
            "//proxy-stats/connections",
            "Show the connections.",
            "--admin-url http://proxy:8080",
            (INDENT,),
            Shown.VALUE,
        ),
        Request(
            "topics",
            "GET",
            "//proxy-stats/topics",
            "Show the topics.",
            "--admin-url http://proxy:8080",
            (INDENT,),
            Shown.VALUE,
        ),
    ),
)
