"""A policy of topics or namespaces as a row of a table, and the levels at which policies are set."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pulsarctl.shell.arguments import Namespace, Topic
from pulsarctl.shell.headings import Heading
from pulsarctl.targets import namespaces as many_namespaces
from pulsarctl.targets import topics as many_topics
from pulsarctl.targets.many import Targets
from pulsarctl.values.shapes import ValueShape

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient

Query = dict[str, object]

Applied = Annotated[
    bool,
    typer.Option("-ap", "--applied", "-a", help="Show the policy in effect, with what namespace and broker set."),
]
Global = Annotated[bool, typer.Option("-g", "--global", help="Use the policy of all clusters, not of this one.")]


@dataclass(frozen=True, slots=True)
class PolicySelector:
    """An option that selects one of several policies on the same topic or namespace, by path or by query."""

    name: str
    kind: Any
    default: Any
    place: Callable[[str, Any], tuple[str, Query]]
    reads: bool = True


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy of one level.

    path     last part of its REST path; `read` is that of reading it, where it differs
    flags    a function whose parameters are the flags of the set verb, and which returns the body of the request as
             pulsar-admin sends it; `example` has flags for the help
    summary  of its set verb, if not the docstring of `flags`
    getter   name in the verb that reads it, where it differs; `also` has other names, hidden from help
    method   how it is set; QUERY if the value is in the query
    clear    how it is removed: "" if it cannot be, "null" if an empty value does it; `removal` is the path of removing
             it, where it differs, and `remover` another name of the verb
    reading  the query options of its get verb, where they differ from the level's; `changing`: of set and remove
    value    the shape of its value in the REST API
    document where the document of a namespace has it, as a path; `{cluster}` stands for the broker's own cluster. The
             rows of namespaces without one are also members of another policy
    unset    the value that the API shows, or takes, where nothing is set; None if it shows none
    """

    heading: Heading
    name: str
    path: str
    flags: Callable[..., Any]
    example: str
    also: tuple[str, ...] = ()
    method: str = "POST"
    clear: str = "DELETE"
    choice: PolicySelector | None = None
    getter: str = ""
    read: str = ""
    removal: str = ""
    remover: str = ""
    summary: str = ""
    reading: dict[str, Any] | None = None
    changing: dict[str, Any] | None = None
    value: ValueShape = field(kw_only=True)
    document: str = ""
    unset: Any = None

    @property
    def title(self) -> str:
        """`retention policy`, for sentences."""
        return f"{self.name.removesuffix('-policies')} policy"


@dataclass(frozen=True, slots=True)
class Level:
    """Where policies are set. `reading` and `changing` are the level's own options, by their query parameters.

    `places` and `choosing` are the argument and the options of verbs that change several at once; `chosen` reads them.
    """

    name: str
    place: Any
    example: str
    client: "Callable[[AdminClient], Any]"
    fallback: str
    places: Any
    choosing: dict[str, Any]
    chosen: Callable[..., Targets]
    reading: dict[str, Any] = field(default_factory=dict)
    changing: dict[str, Any] = field(default_factory=dict)


_TopicsByPattern = Annotated[bool, typer.Option("--regex", help=many_topics.Regex.__metadata__[0].help)]
NAMESPACES = Level(
    "namespace",
    Namespace,
    "public/default",
    lambda admin: admin.namespaces,
    "the broker's default",
    many_namespaces.Namespaces,
    {
        "regex": many_namespaces.Regex,
        "tenant": many_namespaces.InTenant,
        "from_file": many_namespaces.FromFile,
    },
    many_namespaces.chosen,
)
TOPICS = Level(
    "topic",
    Topic,
    "orders",
    lambda admin: admin.topics,
    "the namespace policy",
    many_topics.Topics,
    {
        "regex": _TopicsByPattern,
        "namespace": many_topics.InNamespace,
        "from_file": many_topics.FromFile,
    },
    many_topics.chosen,
    {"applied": Applied, "isGlobal": Global},
    {"isGlobal": Global},
)
