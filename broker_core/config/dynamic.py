"""Settings that change while the broker runs, and survive restarts (Pulsar docs, "Dynamic configuration").

A setting is dynamic if its declaration says so. Its section is changed in place, and only here: the parts of the broker
read a section at each use, or renew what they derived from it when the change is announced.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from broker_core.config.reading import Entry, typed
from broker_core.config.stored_settings import STORED_SETTINGS
from broker_core.errors import InvalidConfiguration, InvalidValue

if TYPE_CHECKING:
    from broker_core.config.broker import BrokerConfig

log = logging.getLogger(__name__)

DYNAMIC_SETTING = "dynamic-setting"  # kind of the documents
HIDDEN = "******"
_SECRET = re.compile(
    "secret|password|basicAuthConf|AuthenticationParameters", re.IGNORECASE
)  # words in the keys of settings with a secret
DEFAULT, START, DYNAMIC = "default", "start", "dynamic"  # where a value comes from


class Documents(Protocol):
    """The metadata store. Reads come from memory; writes wait for the disk."""

    async def put(self, kind: str, key: str, doc: dict[str, Any], /) -> None: ...

    async def delete(self, kind: str, key: str, /) -> None: ...

    def get(self, kind: str, key: str, /) -> dict[str, Any] | None: ...

    def list(self, kind: str, /) -> Iterable[str]: ...


class Shown(NamedTuple):
    """A setting as tools see it: values as text in the unit of its key."""

    value: str
    default: str
    origin: str
    is_dynamic: bool


class DynamicSettings:
    """Owns the values of dynamic settings in `config`, so no other broker may use that object."""

    def __init__(self, config: BrokerConfig, documents: Documents, changed: Callable[[], Awaitable[None]]) -> None:
        """Puts the stored values in force; those that cannot be read any longer are reported and ignored."""
        self._config = config
        self._documents = documents
        self._changed = changed
        self._places = {
            described.metadata["setting"].key: (name, described) for name, described, _ in config.settings()
        }
        self._at_start = config.by_key()
        for key, text in self.values().items():
            if key in STORED_SETTINGS:
                continue
            try:
                self._apply(key, self._read(key, text))
            except InvalidValue as error:
                log.error("stored dynamic setting %s: it is ignored, set it again: %s", key, error)

    @property
    def names(self) -> list[str]:
        own = (key for key, (_, described) in self._places.items() if described.metadata["setting"].dynamic)
        return sorted([*own, *STORED_SETTINGS])

    def values(self) -> dict[str, str]:
        """The values that were set while a broker ran, as they were sent."""
        documents = {
            key: self._documents.get(DYNAMIC_SETTING, key) or {} for key in self._documents.list(DYNAMIC_SETTING)
        }
        return {key: str(document.get("value", "")) for key, document in sorted(documents.items())}

    async def set(self, key: str, text: str) -> None:
        """Set a value, in force on return except for `STORED_SETTINGS`. Raises `InvalidValue`."""
        if key in STORED_SETTINGS:
            await self._documents.put(DYNAMIC_SETTING, key, {"value": text})
            return
        value = self._read(key, text)
        await self._documents.put(DYNAMIC_SETTING, key, {"value": text})
        self._apply(key, value)
        await self._changed()

    async def remove(self, key: str) -> None:
        """Back to the value of the start. Raises `InvalidValue`."""
        if key not in self.names:
            raise InvalidValue("Can't delete non-dynamic configuration")
        await self._documents.delete(DYNAMIC_SETTING, key)
        if key in STORED_SETTINGS:
            return
        self._apply(key, self._at_start[key])
        await self._changed()

    def _read(self, key: str, text: str) -> Any:
        """Read the value; like Pulsar, read every text but `true` as false for a truth value."""
        if key not in self.names:
            raise InvalidValue("Can't update non-dynamic configuration")
        described = self._places[key][1]
        if described.type is bool:
            return text.lower() == "true"
        try:
            return typed(Entry(key, text, "the request"), described.type, described.metadata["setting"])
        except InvalidConfiguration as error:
            raise InvalidValue(f"Invalid dynamic-config value: {error}") from None

    def _apply(self, key: str, value: Any) -> None:
        section, described = self._places[key]
        object.__setattr__(getattr(self._config, section), described.name, value)

    def shown(self) -> Mapping[str, Shown]:
        """Every setting by its key."""
        set_now = self.values()
        return {key: self._shown(key, key in set_now) for key in sorted(self._places)}

    def _shown(self, key: str, is_set: bool) -> Shown:
        section, described = self._places[key]
        setting = described.metadata["setting"]
        value = getattr(getattr(self._config, section), described.name)
        at_start = DEFAULT if self._at_start[key] == setting.default else START
        origin = DYNAMIC if is_set else at_start
        shown = setting.text_of(value)
        hidden = HIDDEN if shown and _SECRET.search(key) else shown
        return Shown(hidden, setting.text_of(setting.default), origin, setting.dynamic)
