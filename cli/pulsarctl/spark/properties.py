"""The settings of a Spark application as a file of Java properties, for `--properties-file`.

Every user of the machine can list the arguments of a process, and settings may contain the keys of a store.
"""

import os
from collections.abc import Mapping
from pathlib import Path

_ESCAPES = str.maketrans(
    {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}
    | {character: f"\\{character}" for character in " :=#!"}
)


def write_properties(directory: Path, settings: Mapping[str, str]) -> list[str]:
    """Writes a file that only its owner can read; the arguments of `spark-submit` that read it.

    Spark ignores its `spark-defaults.conf` beside such a file unless it is told to load both; the file has precedence.
    """
    file = directory / "spark.properties"
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as lines:
        lines.writelines(f"{_escaped(name)}={_escaped(value)}\n" for name, value in settings.items())
    return ["--properties-file", str(file), "--load-spark-defaults"]


def _escaped(text: str) -> str:
    return text.translate(_ESCAPES)
