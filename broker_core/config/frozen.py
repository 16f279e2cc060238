"""Immutable values that cost a start of the broker little. Pure.

`dataclasses` compiles the methods of a frozen class when its module is imported: a millisecond per class, and a start
imports fifty of them. The classes here share their methods. Those are slower, so this is for values that are made
rarely and read often, such as the configuration and policies.
"""

from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Do the same as `dataclass(frozen=True, slots=True, repr=False)`: nothing prints the secrets of a configuration.

    `fields` and `replace` of `dataclasses` take the class and its objects. Fields have no options but a default, its
    factory, metadata, and `compare`.
    """
    own = vars(cls)
    made = dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    for name, method in _METHODS.items():
        if name not in own:
            setattr(made, name, method)
    return made


def _init(self: Any, *values: Any, **named: Any) -> None:
    """Raises TypeError for missing, unknown, and repeated fields."""
    declared = fields(self)
    if len(values) > len(declared):
        raise TypeError(f"{type(self).__name__} takes {len(declared)} values, not {len(values)}")
    for member, value in zip(declared, values, strict=False):
        if member.name in named:
            raise TypeError(f"{type(self).__name__} got {member.name} twice")
        named[member.name] = value
    for member in declared:
        object.__setattr__(
            self, member.name, named.pop(member.name) if member.name in named else _default(self, member)
        )
    if named:
        raise TypeError(f"{type(self).__name__} has no field {', '.join(named)}")
    after = getattr(self, "__post_init__", None)
    if after is not None:
        after()


def _default(config: Any, member: "Field[Any]") -> Any:
    if member.default is not MISSING:
        return member.default
    if member.default_factory is MISSING:
        raise TypeError(f"{type(config).__name__} needs {member.name}")
    return member.default_factory()


def _compared(config: Any) -> tuple[Any, ...]:
    return tuple(getattr(config, member.name) for member in fields(config) if member.compare)


def _eq(self: Any, other: object) -> bool:
    if self is other:
        return True
    return _compared(self) == _compared(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _refuse(self: Any, name: str, *_: Any) -> None:
    raise FrozenInstanceError(f"cannot change {name} of {type(self).__name__}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, member.name) for member in fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for member, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, member.name, value)


_METHODS = {
    "__init__": _init,
    "__eq__": _eq,
    "__hash__": _hash,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__getstate__": _state,
    "__setstate__": _restore,
}
