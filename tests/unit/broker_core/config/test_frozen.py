"""`frozen` behaves as a frozen dataclass does: the two are declared side by side and compared."""

import copy
import dataclasses
import pickle
from dataclasses import dataclass, field
from typing import Any

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.frozen import frozen
from broker_core.config.security import SecurityConfig


@frozen
class Shared:
    name: str
    count: int = 1
    parts: tuple[str, ...] = field(default_factory=tuple)
    secret: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, repr=False)
class Compiled:
    name: str
    count: int = 1
    parts: tuple[str, ...] = field(default_factory=tuple)
    secret: str = field(default="", compare=False)


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
def test_the_text_of_a_value_shows_nothing_of_it(kind: Any) -> None:
    assert "hidden" not in repr(kind("hidden"))


def test_the_text_of_a_configuration_shows_no_secret() -> None:
    config = BrokerConfig(security=SecurityConfig(token_secret_key="data:;base64,c2VjcmV0"))
    assert "c2VjcmV0" not in repr(config)


@BOTH
def test_a_value_has_no_dictionary(kind: Any) -> None:
    assert not hasattr(kind("a"), "__dict__")


@BOTH
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_value_can_be_copied_and_pickled(kind: Any, again: Any) -> None:
    assert again(kind("a", 2, ("b",))) == kind("a", 2, ("b",))


def test_a_class_keeps_the_methods_that_it_has() -> None:
    @frozen
    class Own:
        name: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __hash__(self) -> int:
            return 1

    assert Own("a") == Own("b")
    assert hash(Own("a")) == 1


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
