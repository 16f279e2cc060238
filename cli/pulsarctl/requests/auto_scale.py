"""The auto-scale policy of scalable topics, which a topic and a namespace can have: the verbs that read and change it.

The flags come from the members of the policy's shape. A flag that is not given is a member that is not set.
"""

import re
from typing import Any

from pulsarctl.errors import UsageProblem
from pulsarctl.policies.values import AUTO_SCALE
from pulsarctl.requests.request import Field, In, Request, Shown, Values
from pulsarctl.shell.headings import Heading
from pulsarctl.values.quantities import parse_seconds, parse_size
from pulsarctl.values.shapes import Member, Number, Truth, Unit

_UNITS: dict[Unit, tuple[str, Any]] = {Unit.SECONDS: ("DURATION", parse_seconds), Unit.SIZE: ("SIZE", parse_size)}


def auto_scale_requests(
    noun: str, policy: str, path: str, place: Field, example: str, heading: Heading | None = None
) -> tuple[Request, ...]:
    """The three verbs. `noun`: what has the policy; `policy`: its name in them; `example`: such a name."""
    falls_back = (
        "the broker's settings" if noun == "namespace" else "the policy of the namespace, and then the broker's"
    )
    return (
        Request(
            f"get-{policy}",
            "GET",
            path,
            f"Show the auto-scale policy of a {noun}: the fields that are set there.",
            example,
            (place,),
            Shown.VALUE,
            heading=heading,
        ),
        Request(
            f"set-{policy}",
            "POST",
            path,
            f"Set when the broker splits and merges the segments of a {noun}.\n\n"
            f"Replaces the whole policy. For a field that is not given, {falls_back} apply.",
            f"{example} --max-segments 16 --split-msg-rate-in 20000",
            (place, *_FIELDS),
            heading=heading,
            check=_check,
        ),
        Request(
            f"remove-{policy}",
            "DELETE",
            path,
            f"Remove the auto-scale policy of a {noun}.\n\nAfterwards, {falls_back} apply.",
            example,
            (place,),
            heading=heading,
        ),
    )


def _field(member: Member) -> Field:
    if isinstance(member.shape, Truth):
        return Field(member.name, member.help, ("--enable/--disable",), "", In.BODY, bool, None)
    assert isinstance(member.shape, Number)
    flag = "--" + re.sub(r"[A-Z]", lambda match: f"-{match[0].lower()}", member.name)
    spelling = (flag.removesuffix("-seconds").removesuffix("-threshold"),)
    if member.shape.unit in _UNITS:
        metavar, read = _UNITS[member.shape.unit]
        return Field(member.name, member.help, spelling, metavar, In.BODY, str, None, read=read)
    return Field(member.name, member.help, spelling, "N", In.BODY, int if member.shape.whole else float, None)


def _check(values: Values) -> None:
    if all(values[field.name] is None for field in _FIELDS):
        raise UsageProblem("no field of the policy given", hint="use --max-segments N, or another of the options")


_FIELDS = tuple(map(_field, AUTO_SCALE.members))
