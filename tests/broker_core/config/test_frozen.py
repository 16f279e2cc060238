"""`frozen` behaves as a frozen dataclass does; the two are declared side by side and compared."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import pytest

from broker_core.config.frozen import frozen


@frozen
class Shared:
    name: str
    count: int = 1
    parts: tuple[str, ...] = field(default_factory=tuple)
    secret: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True)
class Compiled:
    name: str
    count: int = 1
    parts: tuple[str, ...] = field(default_factory=tuple)
    secret: str = field(default="", repr=False, compare=False)


BOTH = pytest.mark.parametrize("kind", [Shared, Compiled])


@BOTH
def test_values_come_by_position_by_name_and_by_default(kind: Any) -> None:
    made = kind("a", 2, secret="s")
    assert (made.name, made.count, made.parts, made.secret) == ("a", 2, (), "s")


@BOTH
@pytest.mark.parametrize(
    ("given", "named"), [((), {}), (("a",), {"name": "b"}), (("a",), {"other": 1}), (("a", 1, (), "", 5), {})]
)
def test_wrong_values_are_refused(kind: Any, given: Any, named: Any) -> None:
    with pytest.raises(TypeError, match=kind.__name__):
        kind(*given, **named)


@BOTH
def test_a_value_does_not_change(kind: Any) -> None:
    made = kind("a")
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.name = "b"
    with pytest.raises(dataclasses.FrozenInstanceError):
        del made.name
    assert made.name == "a"


@BOTH
def test_equal_fields_make_equal_values(kind: Any) -> None:
    assert kind("a", secret="1") == kind("a", secret="2")
    assert hash(kind("a", secret="1")) == hash(kind("a", secret="2"))
    assert kind("a") != kind("b")
    assert kind("a") != "a"


def test_values_of_two_classes_differ() -> None:
    others: list[object] = [Compiled("a")]
    assert Shared("a") not in others


@BOTH
def test_the_text_of_a_value_keeps_secrets(kind: Any) -> None:
    assert repr(kind("a", secret="hidden")) == f"{kind.__name__}(name='a', count=1, parts=())"


@BOTH
def test_a_copy_differs_where_it_is_told(kind: Any) -> None:
    assert dataclasses.replace(kind("a", 2), name="b") == kind("b", 2)
    assert dataclasses.asdict(kind("a")) == {"name": "a", "count": 1, "parts": (), "secret": ""}


def test_a_check_runs_once_all_values_are_there() -> None:
    @frozen
    class Checked:
        least: int
        most: int = 0

        def __post_init__(self) -> None:
            if self.least > self.most:
                raise ValueError("upside down")

    assert Checked(1, 2).most == 2
    with pytest.raises(ValueError, match="upside down"):
        Checked(3)
