"""The routing table: for each method and path, its handler, and what callers and permissions need to know about it.

`openapi` makes the published document from it. Paths are matched raw, segment by segment; empty segments (doubled or
trailing slashes) do not count. A literal segment takes precedence over a variable one (`/partitioned` over `/{topic}`),
unless it does not have the method. The variable `domain` matches only `persistent` and `non-persistent`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from broker_core.admin.call import Handler
from broker_core.admin.shapes import Shape
from broker_core.names import NON_PERSISTENT, PERSISTENT
from broker_core.security.operations import Operation

DOMAINS = frozenset({PERSISTENT, NON_PERSISTENT})


class Route(NamedTuple):
    """`path` is a template: `/admin/v2/tenants/{tenant}`. `operation`: what a caller must be allowed to do.

    `query`: the names of the parameters that the handler reads. `body`: what it reads from the body, if anything.
    `has_large_body`: it may exceed httpMaxRequestSize. `domain`: that of the topic, if the path does not have it.
    """

    method: str
    path: str
    handler: Handler
    operation: Operation
    query: tuple[str, ...] = ()
    body: Shape | None = None
    summary: str = ""
    has_large_body: bool = False
    domain: str = PERSISTENT


class Match(NamedTuple):
    route: Route
    parts: dict[str, str]


@dataclass(slots=True, eq=False, repr=False)
class _Node:
    """The segments that may follow after a prefix of a path."""

    literals: dict[str, _Node] = field(default_factory=dict)
    variable: _Node | None = None
    methods: dict[str, tuple[Route, tuple[str, ...]]] = field(default_factory=dict)


class Routes:
    def __init__(self, routes: Iterable[Route]) -> None:
        self.listed = tuple(routes)
        self._root = _Node()
        for route in self.listed:
            self._add(route)

    def _add(self, route: Route) -> None:
        node, names = self._root, []
        for segment in _segments(route.path):
            if segment.startswith("{"):
                names.append(segment[1:-1])
                node.variable = node.variable or _Node()
                node = node.variable
            else:
                node = node.literals.setdefault(segment, _Node())
        assert route.method not in node.methods, f"{route.method} {route.path} is routed twice"
        node.methods[route.method] = (route, tuple(names))

    def find(self, method: str, path: str) -> Match | frozenset[str]:
        """The match, or the methods that the path has; none if there is no such path."""
        known: set[str] = set()
        for node, values in _ends(self._root, _segments(path), ()):
            for served, (route, names) in node.methods.items():
                parts = dict(zip(names, values, strict=True))
                if parts.get("domain", PERSISTENT) not in DOMAINS:
                    continue
                if served == method:
                    return Match(route, parts)
                known.add(served)
        return frozenset(known)


def _ends(node: _Node, segments: list[str], values: tuple[str, ...]) -> Iterable[tuple[_Node, tuple[str, ...]]]:
    """Every node where the path can end, literal segments first, with the values of the variable ones."""
    if not segments:
        yield node, values
        return
    first, rest = segments[0], segments[1:]
    if first in node.literals:
        yield from _ends(node.literals[first], rest, values)
    if node.variable is not None:
        yield from _ends(node.variable, rest, (*values, first))


def _segments(path: str) -> list[str]:
    return [segment for segment in path.split("/") if segment]
