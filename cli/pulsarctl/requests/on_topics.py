"""Verbs of a table that change topics: each takes several, by name, from a file, by a pattern, or of a namespace."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pulsarctl.requests.fields import TOPIC
from pulsarctl.requests.request import Act, Given, Request, Shown
from pulsarctl.requests.sending import send, show_value
from pulsarctl.requests.signature import EITHER, parameters, with_signature
from pulsarctl.shell.arguments import PARALLEL_DEFAULT, Parallel, Yes
from pulsarctl.shell.call import Call
from pulsarctl.targets.many import Targets, act_on, shown
from pulsarctl.targets.topics import FromFile, InNamespace, Regex, Topics, chosen

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient

_WITHOUT_R = Annotated[bool, typer.Option("--regex", help=Regex.__metadata__[0].help)]


def takes_topics(row: Request) -> bool:
    return TOPIC in row.fields and row.method != "GET"


def on_topics(row: Request) -> Callable[..., None]:
    def run(call: Call, **given: Any) -> None:
        if row.check is not None:
            row.check(given)
        parallel = given.pop("parallel")
        names = _chosen(call, given)
        if names:
            _confirm(call, row, names, given)
            _act(call, row, names, given, parallel)

    return with_signature(run, _signature(row))


def _chosen(call: Call, given: Given) -> Targets:
    options = {name: given.pop(name) for name in ("regex", "from_file", "namespace")}
    return chosen(call, given.pop(TOPIC.name), **options)


def _confirm(call: Call, row: Request, names: Targets, given: Given) -> None:
    question = row.several if names.several and row.several else row.question
    if question:
        call.confirm(question.format(**given | {TOPIC.name: shown(names)}), yes=given["yes"], several=names.several)


def _act(call: Call, row: Request, names: Targets, given: Given, parallel: int) -> None:
    act: Act = row.act(given) if row.act is not None else partial(_send, row, given)

    def named(admin: "AdminClient", topic: str) -> tuple[str, Any]:
        return topic, act(admin, topic)

    found = dict(act_on(call, names, named, verb=row.doing or row.name, parallel=parallel))
    _show(call, row, given, found, several=names.several)


def _send(row: Request, given: Given, admin: "AdminClient", topic: str) -> Any:
    return send(admin, row, given | {TOPIC.name: topic})


def _show(call: Call, row: Request, given: Given, found: Mapping[str, Any], *, several: bool) -> None:
    if row.show is not None:
        row.show(call, given, found)
    elif row.shown is Shown.NOTHING:
        return
    elif several:
        call.show(dict(found), as_map=True)
    else:
        show_value(call, row, *found.values())


def _signature(row: Request) -> list[inspect.Parameter]:
    own = parameters(field for field in row.fields if field is not TOPIC)
    required = [one for one in own if one.default is inspect.Parameter.empty]
    taken = any("-r" in field.spellings for field in row.fields)
    options: dict[str, tuple[Any, Any]] = {
        TOPIC.name: (Topics, None),
        **{one.name: (one.annotation, one.default) for one in own if one not in required},
        "regex": (_WITHOUT_R if taken else Regex, False),
        "namespace": (InNamespace, None),
        "from_file": (FromFile, None),
        "parallel": (Parallel, PARALLEL_DEFAULT),
    }
    if row.question or row.several:
        options["yes"] = (Yes, False)
    made = [inspect.Parameter(name, EITHER, annotation=kind, default=value) for name, (kind, value) in options.items()]
    return [*required, *made]
