"""`pulsarctl functions-worker`: the workers that run functions and connectors."""

from pulsarctl.requests.installing import install_requests
from pulsarctl.requests.request import Request, Shown
from pulsarctl.shell.grammar import Noun

app = Noun("functions-worker", "Inspect the workers that run functions and connectors.")

_READ = (
    ("function-stats", "worker-stats/functionsmetrics", "Show the metrics of the functions of a worker."),
    ("monitoring-metrics", "worker-stats/metrics", "Show the metrics of a worker."),
    ("get-cluster", "worker/cluster", "Show the workers of the cluster."),
    ("get-cluster-leader", "worker/cluster/leader", "Show the leader of the workers."),
    ("get-function-assignments", "worker/assignments", "Show which worker runs which function."),
)

install_requests(
    app,
    (
        *(Request(name, "GET", path, summary, "", (), Shown.VALUE) for name, path, summary in _READ),
        Request("rebalance", "PUT", "worker/rebalance", "Assign the functions to the workers again.", ""),
    ),
)
