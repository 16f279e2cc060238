"""Services of Pulsar that this broker does not have: their paths answer 501 with a reason that says what to do instead.

Functions, connectors, packages, and their worker are programs of their own in Pulsar. Each line of a table holds the
methods and the rest of a path of Pulsar 4.0. Connectors have the same paths for sources and for sinks.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from broker_core.admin.call import Call
from broker_core.admin.routes import Route
from broker_core.errors import NotImplementedHere
from broker_core.security.operations import SUPER_USER

_OF_FUNCTION = "{tenant}/{namespace}/{functionName}"
_OLD_FUNCTIONS = f"""
GET connectors
GET download
POST upload
GET {{tenant}}/{{namespace}}
DELETE|GET|POST|PUT {_OF_FUNCTION}
POST {_OF_FUNCTION}/restart
GET {_OF_FUNCTION}/state/{{key}}
GET {_OF_FUNCTION}/status
POST {_OF_FUNCTION}/stop
POST {_OF_FUNCTION}/trigger
POST {_OF_FUNCTION}/{{instanceId}}/restart
GET {_OF_FUNCTION}/{{instanceId}}/status
POST {_OF_FUNCTION}/{{instanceId}}/stop
"""
_FUNCTIONS = f"""
GET builtins
POST builtins/reload
GET connectors
GET download
PUT leader/{_OF_FUNCTION}
POST upload
GET {{tenant}}/{{namespace}}
DELETE|GET|POST|PUT {_OF_FUNCTION}
GET {_OF_FUNCTION}/download
POST {_OF_FUNCTION}/restart
POST {_OF_FUNCTION}/start
GET|POST {_OF_FUNCTION}/state/{{key}}
GET {_OF_FUNCTION}/stats
GET {_OF_FUNCTION}/status
POST {_OF_FUNCTION}/stop
POST {_OF_FUNCTION}/trigger
POST {_OF_FUNCTION}/{{instanceId}}/restart
POST {_OF_FUNCTION}/{{instanceId}}/start
GET {_OF_FUNCTION}/{{instanceId}}/stats
GET {_OF_FUNCTION}/{{instanceId}}/status
POST {_OF_FUNCTION}/{{instanceId}}/stop
"""
_OF_CONNECTOR = "{tenant}/{namespace}/{name}"
_CONNECTORS = f"""
GET {{tenant}}/{{namespace}}
DELETE|GET|POST|PUT {_OF_CONNECTOR}
POST {_OF_CONNECTOR}/restart
POST {_OF_CONNECTOR}/start
GET {_OF_CONNECTOR}/status
POST {_OF_CONNECTOR}/stop
POST {_OF_CONNECTOR}/{{instanceId}}/restart
POST {_OF_CONNECTOR}/{{instanceId}}/start
GET {_OF_CONNECTOR}/{{instanceId}}/status
POST {_OF_CONNECTOR}/{{instanceId}}/stop
"""
_SOURCES = f"""{_CONNECTORS}
GET builtinsources
GET builtinsources/{{name}}/configdefinition
POST reloadBuiltInSources
"""
_SINKS = f"""{_CONNECTORS}
GET builtinsinks
GET builtinsinks/{{name}}/configdefinition
POST reloadBuiltInSinks
"""
_WORKER = """
GET assignments
GET cluster
GET cluster/leader
GET cluster/leader/ready
GET connectors
GET|PUT drain
GET|PUT leader/drain
PUT rebalance
"""
_WORKER_STATS = """
GET functionsmetrics
GET metrics
"""
_PACKAGES = """
GET {type}/{tenant}/{namespace}
GET {type}/{tenant}/{namespace}/{packageName}
DELETE|GET|POST {type}/{tenant}/{namespace}/{packageName}/{version}
GET|PUT {type}/{tenant}/{namespace}/{packageName}/{version}/metadata
"""

_NO_FUNCTIONS = (
    "this broker does not run functions: run the code in a program that consumes and produces, or use a Pulsar cluster"
    " with functionsWorkerEnabled=true"
)
_NO_CONNECTORS = (
    "this broker does not run connectors: copy the data with a program that produces or consumes, or use a Pulsar"
    " cluster with functionsWorkerEnabled=true"
)
_NO_PACKAGES = (
    "this broker does not store packages: keep them in a file or object store, or use a Pulsar cluster with"
    " enablePackagesManagement=true"
)

_SERVICES = (
    ("/admin/v2/functions", _OLD_FUNCTIONS, _NO_FUNCTIONS),
    ("/admin/v3/functions", _FUNCTIONS, _NO_FUNCTIONS),
    ("/admin/v3/sources", _SOURCES, _NO_CONNECTORS),
    ("/admin/v3/source", _SOURCES, _NO_CONNECTORS),
    ("/admin/v3/sinks", _SINKS, _NO_CONNECTORS),
    ("/admin/v3/sink", _SINKS, _NO_CONNECTORS),
    ("/admin/v2/worker", _WORKER, _NO_FUNCTIONS),
    ("/admin/v2/worker-stats", _WORKER_STATS, _NO_FUNCTIONS),
    ("/admin/v3/packages", _PACKAGES, _NO_PACKAGES),
)


async def refuse(reason: str, _call: Call) -> None:
    raise NotImplementedHere(reason)


def _routes() -> Iterator[Route]:
    for root, table, reason in _SERVICES:
        for line in table.split("\n"):
            methods, _, rest = line.partition(" ")
            for method in methods.split("|") if methods else ():
                path = f"{root}/{rest}".rstrip("/")
                yield Route(method, path, partial(refuse, reason), SUPER_USER, summary="Not part of this broker")


ROUTES = tuple(_routes())
