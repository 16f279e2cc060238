"""Verbs of a table that change topics: each takes several, by name, from a file, by a pattern, or of a namespace."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pulsarctl.requests.fields import TOPIC
from pulsarctl.requests.request import Request, Shown, Values
from pulsarctl.requests.sending import send, show_value
from pulsarctl.requests.signature import EITHER, parameters, with_signature
from pulsarctl.shell.arguments import PARALLEL_DEFAULT, Parallel, Yes
from pulsarctl.shell.call import Call
from pulsarctl.targets.many import Targets, act_on, shown
from pulsarctl.targets.topics import FromFile, InNamespace, Regex, RegexWithoutR, Topics, chosen

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient


def takes_topics(row: Request) -> bool:
    return TOPIC in row.fields and row.method != "GET"


def on_topics(row: Request) -> Callable[..., None]:
    def run(call: Call, **values: Any) -> None:
        if row.check is not None:
            row.check(values)
        parallel = values.pop("parallel")
        names = _chosen(call, values)
        if names:
            _confirm(call, row, names, values)
            _act(call, row, names, values, parallel)

    return with_signature(run, _signature(row))


def _chosen(call: Call, values: Values) -> Targets:
    options = {name: values.pop(name) for name in ("regex", "from_file", "namespace")}
    return chosen(call, values.pop(TOPIC.name), **options)


def _confirm(call: Call, row: Request, names: Targets, values: Values) -> None:
    if row.question:
        call.confirm(
            row.question.format(**values | {TOPIC.name: shown(names)}), yes=values["yes"], several=names.several
        )


def _act(call: Call, row: Request, names: Targets, values: Values, parallel: int) -> None:
    results = dict(act_on(call, names, partial(_send, row, values), verb=row.name, parallel=parallel))
    _show(call, row, values, results, several=names.several)


def _send(row: Request, values: Values, admin: "AdminClient", topic: str) -> tuple[str, Any]:
    return topic, send(admin, row, values | {TOPIC.name: topic})


def _show(call: Call, row: Request, values: Values, results: Mapping[str, Any], *, several: bool) -> None:
    if row.shown is Shown.NOTHING:
        return
    if several:
        call.show(dict(results), as_map=True)
    else:
        show_value(call, row, *results.values())


def _signature(row: Request) -> list[inspect.Parameter]:
    own = parameters(field for field in row.fields if field is not TOPIC)
    required = [parameter for parameter in own if parameter.default is inspect.Parameter.empty]
    taken = any("-r" in field.spellings for field in row.fields)
    options: dict[str, tuple[Any, Any]] = {
        TOPIC.name: (Topics, None),
        **{parameter.name: (parameter.annotation, parameter.default) for parameter in own if parameter not in required},
        "regex": (RegexWithoutR if taken else Regex, False),
        "namespace": (InNamespace, None),
        "from_file": (FromFile, None),
        "parallel": (Parallel, PARALLEL_DEFAULT),
    }
    if row.question:
        options["yes"] = (Yes, False)
    made = [inspect.Parameter(name, EITHER, annotation=kind, default=value) for name, (kind, value) in options.items()]
    return [*required, *made]
