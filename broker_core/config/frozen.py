"""Immutable values that cost a start of the broker little. Pure.

`dataclasses` compiles the methods of a frozen class when its module is imported: a millisecond per class, and a start
imports fifty of them. The classes here share their methods. Those are slower, so this is for values that are made
rarely and read often, such as the configuration and policies.
"""

from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(found: type[T]) -> type[T]:
    """As `dataclass(frozen=True)`: `fields` and `replace` of `dataclasses` take the class and its objects."""
    made = dataclass(init=False, repr=False, eq=False)(found)
    for name, method in _METHODS.items():
        setattr(made, name, method)
    return made


def _init(self: Any, *given: Any, **named: Any) -> None:
    """Raises TypeError for missing, unknown, and repeated fields."""
    declared = fields(self)
    if len(given) > len(declared):
        raise TypeError(f"{type(self).__name__} takes {len(declared)} values, not {len(given)}")
    for one, value in zip(declared, given, strict=False):
        if one.name in named:
            raise TypeError(f"{type(self).__name__} got {one.name} twice")
        named[one.name] = value
    for one in declared:
        object.__setattr__(self, one.name, named.pop(one.name) if one.name in named else _default(self, one))
    if named:
        raise TypeError(f"{type(self).__name__} has no field {', '.join(named)}")
    after = getattr(self, "__post_init__", None)
    if after is not None:
        after()


def _default(of: Any, one: "Field[Any]") -> Any:
    if one.default is not MISSING:
        return one.default
    if one.default_factory is MISSING:
        raise TypeError(f"{type(of).__name__} needs {one.name}")
    return one.default_factory()


def _compared(of: Any) -> tuple[Any, ...]:
    return tuple(getattr(of, one.name) for one in fields(of) if one.compare)


def _eq(self: Any, other: object) -> bool:
    return _compared(self) == _compared(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _repr(self: Any) -> str:
    shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__name__}({shown})"


def _refuse(self: Any, name: str, *_: Any) -> None:
    raise FrozenInstanceError(f"cannot change {name} of {type(self).__name__}")


_METHODS = {
    "__init__": _init,
    "__eq__": _eq,
    "__hash__": _hash,
    "__repr__": _repr,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
}
