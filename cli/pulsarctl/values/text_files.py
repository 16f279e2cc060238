"""Text and YAML files that a user names: read whole, in UTF-8, with a bound on their size."""

from pathlib import Path
from typing import Any

from pulsarctl.errors import UsageProblem
from pulsarctl.values.json_text import parse_json

BYTES_MAX = 16 << 20  # far above every configuration, definition, or list of names


def read_text(path: Path, subject: str = "") -> str:
    """The text of a file. `subject` names it in errors. Raises `UsageProblem`."""
    subject = subject or str(path)
    try:
        with path.open("rb") as file:
            data = file.read(BYTES_MAX + 1)
    except OSError as error:
        raise UsageProblem(f"cannot read {subject}: {error.strerror}") from error
    if len(data) > BYTES_MAX:
        raise UsageProblem(f"cannot read {subject}: it is longer than {BYTES_MAX >> 20} MiB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageProblem(f"cannot read {subject}: it is not UTF-8 ({error.reason} at byte {error.start})") from error


def read_document(path: Path) -> Any:
    """The value of a file of JSON or YAML. Raises `UsageProblem`."""
    text = read_text(path)
    try:
        return parse_json(text)
    except ValueError:
        return parse_yaml(text, str(path), "neither JSON nor YAML")


def text_or_switch(value: Any, subject: str) -> str | bool:
    """A scalar of a YAML document. Raises `UsageProblem`, also for a number: YAML reads `0123` as another one."""
    if isinstance(value, str | bool):
        return value
    raise UsageProblem(f"cannot use {subject}: it is not text", hint="put it in quotes")


def parse_yaml(text: str, subject: str, otherwise: str = "not YAML") -> Any:
    """The value of a YAML document. `subject` names it in errors, `otherwise` what it is not. Raises `UsageProblem`."""
    import yaml

    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise UsageProblem(f"cannot read {subject}: it is {otherwise}: {error}") from error
    except (ValueError, OverflowError) as error:  # a number or a date that Python does not have
        raise UsageProblem(f"cannot read {subject}: {error}") from error
