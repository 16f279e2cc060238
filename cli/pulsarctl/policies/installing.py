"""The verbs of policies: `get-`, `set-`, and `remove-` for each row of the tables.

`topics` and `topicPolicies` have the same verbs for the same policies. Namespaces have most of them, without
`--applied` and `--global`. `set-` and `remove-` take several topics or namespaces.
"""

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pulsarctl.policies import creation, delivery, limits, metrics, offload, rates, schema, storage
from pulsarctl.policies.policy import NAMESPACES, TOPICS, Level, Policy, PolicySelector, Query
from pulsarctl.policies.text import policy_text
from pulsarctl.shell.arguments import PARALLEL_DEFAULT, Parallel
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.targets.many import act_on, shown

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient

Arguments = dict[str, tuple[Any, Any]]  # type and default
NO_DEFAULT = inspect.Parameter.empty
PLACE = "{place}"  # in what is said, until the names are known
HEADINGS = (storage, offload, delivery, rates, limits, creation, schema, metrics)
OF_NAMESPACES = tuple(policy for heading in HEADINGS for policy in heading.OF_NAMESPACES)
OF_TOPICS = tuple(policy for heading in HEADINGS for policy in heading.OF_TOPICS)


def install_namespace_policies(noun: Noun) -> None:
    """Adds the policy verbs of namespaces."""
    _install(noun, NAMESPACES, OF_NAMESPACES)


def install_topic_policies(noun: Noun) -> None:
    """Adds the policy verbs of topics."""
    _install(noun, TOPICS, OF_TOPICS)


def _install(noun: Noun, level: Level, policies: tuple[Policy, ...]) -> None:
    for policy in policies:
        _install_get(noun, level, policy)
        _install_set(noun, level, policy)
        if policy.clear:
            _install_remove(noun, level, policy)


def _install_get(noun: Noun, level: Level, policy: Policy) -> None:
    choice = policy.choice if policy.choice is not None and policy.choice.reads else None

    def get(call: Call, place: str, **values: Any) -> None:
        path, query = _chosen(policy.read or policy.path, choice, values)
        call.show(level.client(call.admin).policy(place, path, **values, **query))

    name = policy.getter or policy.name
    others = [other for other in (policy.name, *policy.also) if other != name]
    summary = f"Show the {policy.title} of a {level.name}."
    body = _with_options(get, {"place": (level.place, NO_DEFAULT)}, _options(choice, _reading(level, policy)))
    noun.verb(*(f"get-{option}" for option in (name, *others)), heading=policy.heading, help=summary)(body)


def _install_set(noun: Noun, level: Level, policy: Policy) -> None:
    own = list(inspect.signature(policy.flags).parameters.values())[1:]
    shared = {parameter.name for parameter in own}
    changing = _changing(level, policy)
    extra = [parameter for parameter in _options(policy.choice, changing) if parameter.name not in shared]

    def set_policy(call: Call, **values: Any) -> None:
        value = policy.flags(call, **{name: values[name] for name in shared})
        path, query = _chosen(policy.path, policy.choice, values)
        query |= {name: values[name] for name in changing}

        def act(admin: "AdminClient", place: str) -> None:
            client = level.client(admin)
            if policy.method == "QUERY":
                client.set_policy(place, path, None, **{path: value}, **query)
            else:
                client.set_policy(place, path, value, method=policy.method, **query)

        said = f"{policy.name} of {PLACE}: {policy_text(policy.name, value)}"
        _change(call, level, values, act, f"set the {policy.title} of", said)

    example = f"Example: pulsarctl {noun.noun} set-{policy.name} {level.example} {policy.example}".rstrip()
    body = _with_options(set_policy, *_several(level, [*own, *extra]))
    names = (f"set-{parameter}" for parameter in (policy.name, *policy.also))
    noun.verb(*names, heading=policy.heading, help=f"{policy.summary or inspect.getdoc(policy.flags)}\n\n{example}")(
        body
    )


def _install_remove(noun: Noun, level: Level, policy: Policy) -> None:
    changing = _changing(level, policy)

    def remove(call: Call, **values: Any) -> None:
        path, query = _chosen(policy.removal or policy.path, policy.choice, values)
        query |= {name: values[name] for name in changing}

        def act(admin: "AdminClient", place: str) -> None:
            client = level.client(admin)
            if policy.clear == "null":
                client.set_policy(place, path, None, method=policy.method, **query)
            else:
                client.remove_policy(place, path, **query)

        said = f"removed the {policy.title} of {PLACE}: {level.fallback} applies"
        _change(call, level, values, act, f"remove the {policy.title} of", said)

    summary = f"Remove the {policy.title} of a {level.name}.\n\nAfterwards, {level.fallback} applies."
    body = _with_options(remove, *_several(level, _options(policy.choice, changing)))
    names = [f"remove-{option}" for option in (policy.name, *policy.also)]
    names += [policy.remover] if policy.remover else []
    noun.verb(*names, heading=policy.heading, help=summary)(body)


def _change(
    call: Call, level: Level, values: dict[str, Any], act: "Callable[[AdminClient, str], None]", verb: str, said: str
) -> None:
    """Acts on each place that is named. `said` is for one of them, or for what several are together."""
    chosen = level.chosen(call, values["places"], **{name: values[name] for name in level.choosing})
    if chosen:
        act_on(call, chosen, act, verb=verb, parallel=values["parallel"])
        call.tell(said.replace(PLACE, shown(chosen), 1))


def _reading(level: Level, policy: Policy) -> dict[str, Any]:
    return level.reading if policy.reading is None else policy.reading


def _changing(level: Level, policy: Policy) -> dict[str, Any]:
    return level.changing if policy.changing is None else policy.changing


def _chosen(path: str, choice: PolicySelector | None, values: dict[str, Any]) -> tuple[str, Query]:
    """The path and query of the chosen policy. Takes the choice out of `given`."""
    return (path, {}) if choice is None else choice.place(path, values.pop(choice.name))


def _options(choice: PolicySelector | None, of_level: dict[str, Any]) -> list[inspect.Parameter]:
    keyword = inspect.Parameter.KEYWORD_ONLY
    options = [inspect.Parameter(name, keyword, annotation=kind, default=False) for name, kind in of_level.items()]
    if choice is not None:
        options.insert(0, inspect.Parameter(choice.name, keyword, annotation=choice.kind, default=choice.default))
    return options


def _several(level: Level, options: list[inspect.Parameter]) -> tuple[Arguments, list[inspect.Parameter]]:
    """The argument and the options of a verb that changes several places at once."""
    keyword, default = inspect.Parameter.KEYWORD_ONLY, {"regex": False, "parallel": PARALLEL_DEFAULT}
    kinds = {**level.choosing, "parallel": Parallel}
    own = [inspect.Parameter(name, keyword, annotation=kind, default=default.get(name)) for name, kind in kinds.items()]
    return {"places": (level.places, None)}, [*options, *own]


def _with_options(
    body: Callable[..., None], arguments: Arguments, options: list[inspect.Parameter]
) -> Callable[..., None]:
    """The function with the signature that Typer reads."""
    either = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [
        inspect.Parameter("call", either, annotation=Call),
        *(
            inspect.Parameter(name, either, annotation=kind, default=default)
            for name, (kind, default) in arguments.items()
        ),
        *options,
    ]
    body.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # Typer reads it
    body.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return body
