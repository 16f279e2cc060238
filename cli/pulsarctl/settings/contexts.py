"""The context file, shared with the Go tool of the same name.

It is YAML at `~/.config/pulsar/config`, or the path in `PULSARCONFIG`: `contexts.NAME` holds addresses, `auth-
info.NAME` holds credentials, and `current-context` names the selected context. A change keeps unknown keys. The file
is replaced atomically, and only its owner can read it, because it holds tokens. `broker-service-url` is our addition:
the Go tool has no command that needs it. So are `user`, `password_file`, and the keys that begin with `auth_`.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pulsarctl.errors import NotFound, UsageProblem
from pulsarctl.output import whole_file
from pulsarctl.output.one_writer import one_writer
from pulsarctl.settings.client_security import METHOD_OF
from pulsarctl.values.text_files import parse_yaml, read_text, text_or_switch

# key of a context -> field of Settings
ADDRESS_FIELDS = {"admin-service-url": "web_url", "broker-service-url": "service_url"}
# key of an auth-info -> field of Settings
AUTH_FIELDS = {
    "token": "token",
    "tokenFile": "token_file",
    "auth_plugin": "auth_plugin",
    "auth_params": "auth_params",
    "user": "user",
    "password_file": "password_file",
    "issuer_endpoint": "issuer_endpoint",
    "key_file": "key_file",
    "client_id": "client_id",
    "audience": "audience",
    "scope": "scope",
    "tls_trust_certs_file_path": "tls_trust_cert_path",
    "tls_allow_insecure_connection": "tls_allow_insecure",
    "tls_enable_hostname_verification": "tls_verify_hostname",
    "tls_cert_file": "tls_cert_file",
    "tls_key_file": "tls_key_file",
}


def default_path(environ: Mapping[str, str]) -> Path:
    """The first existing path in `PULSARCONFIG`, or its first path, or the path in the home directory."""
    listed = [Path(part) for part in environ.get("PULSARCONFIG", "").split(os.pathsep) if part]
    for path in listed:
        if path.exists():
            return path
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    return listed[0] if listed else home / ".config" / "pulsar" / "config"


class ContextFile:
    """The file in memory. Nothing is written before `save`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._document: dict[str, Any] = _load(path)

    @property
    def current(self) -> str | None:
        name = self._document.get("current-context") or None
        return None if name is None else str(_checked("current-context", name))

    @current.setter
    def current(self, name: str) -> None:
        self._document["current-context"] = name

    @property
    def names(self) -> list[str]:
        return list(self._section("contexts"))

    def require(self, name: str) -> None:
        """Raises `NotFound` naming the existing contexts."""
        if name not in self._section("contexts"):
            known = ", ".join(self.names) or "none"
            raise NotFound(
                f"no context '{name}' in {self.path} (known contexts: {known})", hint="pulsarctl context list"
            )

    def fields(self, name: str) -> dict[str, Any]:
        """The settings in a context, by field of `Settings`. Raises `NotFound`."""
        self.require(name)
        address, auth = self._entry("contexts", name), self._entry("auth-info", name)
        addresses = {
            field: _checked(f"contexts.{name}.{key}", address[key])
            for key, field in ADDRESS_FIELDS.items()
            if address.get(key)
        }
        return addresses | {
            field: _checked(f"auth-info.{name}.{key}", auth[key]) for key, field in AUTH_FIELDS.items() if auth.get(key)
        }

    def put(self, name: str, fields: Mapping[str, Any]) -> None:
        """Creates or changes a context. Omitted fields keep their values, but new credentials replace the old ones."""
        methods = {METHOD_OF[field] for field in fields if field in METHOD_OF}
        replaced = {field for field, method in METHOD_OF.items() if methods and method not in methods}
        for section, keys in (("contexts", ADDRESS_FIELDS), ("auth-info", AUTH_FIELDS)):
            entry = {key: value for key, value in self._entry(section, name).items() if keys.get(key) not in replaced}
            entry.update({key: fields[field] for key, field in keys.items() if field in fields})
            self._section(section)[name] = entry

    def rename(self, old: str, new: str) -> None:
        """Raises `NotFound`, or `UsageProblem` if the new name is taken."""
        self.require(old)
        if new in self._section("contexts"):
            raise UsageProblem(f"cannot rename the context: '{new}' exists", hint=f"pulsarctl context delete {new}")
        for section in ("contexts", "auth-info"):
            entries = self._section(section)
            if old in entries:
                entries[new] = entries.pop(old)
        if self.current == old:
            self.current = new

    def delete(self, name: str) -> None:
        """Deletes a context. Deleting the current one leaves none selected. Raises `NotFound`."""
        self.require(name)
        self._section("contexts").pop(name)
        self._section("auth-info").pop(name, None)
        if self.current == name:
            self.current = ""

    def save(self) -> None:
        """Replaces the file atomically. The new file has mode 0600 from its first byte. Raises `CliError`, OSError."""
        import yaml

        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        text = yaml.safe_dump(self._document, sort_keys=False, allow_unicode=True)
        whole_file.replace(self.path.resolve(), text, mode=0o600)  # a link stays a link

    def _section(self, name: str) -> dict[str, Any]:
        section = self._document.get(name)
        if section is None:
            section = self._document[name] = {}
        if not isinstance(section, dict):
            raise UsageProblem(f"{self.path}: '{name}' is not a mapping")
        if wrong := [key for key in section if not isinstance(key, str)]:
            raise UsageProblem(f"{self.path}: the name {wrong[0]!r} in '{name}' is not text", hint="put it in quotes")
        return section

    def _entry(self, section: str, name: str) -> dict[str, Any]:
        entry = self._section(section).get(name)
        return entry if isinstance(entry, dict) else {}


@contextmanager
def changed(path: Path) -> Iterator[ContextFile]:
    """The file as it is now, saved at the end of the block. Other processes that change it wait."""
    with one_writer(path):
        file = ContextFile(path)
        yield file
        file.save()


def _load(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    subject = f"the context file {path}"
    document = parse_yaml(read_text(path, subject), subject)
    if document is not None and not isinstance(document, dict):
        raise UsageProblem(f"cannot read {subject}: it is not a mapping of keys")
    return document or {}


def _checked(key: str, value: Any) -> str | bool:
    return text_or_switch(value, f"{key} of the context file")
