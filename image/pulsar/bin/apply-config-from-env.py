#!/usr/bin/env python3
"""Applies environment variables to configuration files, as the program of this name in apachepulsar/pulsar does.

`PULSAR_PREFIX_key=value` sets a key of each file, or adds it. `key=value` sets a key that the file has.

Usage: apply-config-from-env.py FILE...
"""

import os
import sys
from collections.abc import Mapping

PREFIX = "PULSAR_PREFIX_"


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for file in sys.argv[1:]:
        try:
            apply(file, os.environ)
        except OSError as error:
            sys.exit(
                f"error: cannot change {file}: {error.strerror}; with a read-only root, mount a tmpfs at its directory"
            )


def apply(file: str, environment: Mapping[str, str]) -> None:
    lines = read(file)
    at = {key(line): number for number, line in enumerate(lines) if key(line)}
    for name, value in sorted(environment.items()):
        changed = name.removeprefix(PREFIX)
        if changed in at:
            lines[at[changed]] = f"{changed}={value.strip()}"
        elif name.startswith(PREFIX):
            lines.append(f"{changed}={value.strip()}")
        else:
            continue
        print(f"[{file}] {changed} is set from the environment", flush=True)  # without its value, which can be secret
    with open(file, "w") as stream:
        stream.writelines(f"{line}\n" for line in lines)


def read(file: str) -> list[str]:
    try:
        with open(file) as stream:
            return stream.read().splitlines()
    except FileNotFoundError:
        return []


def key(line: str) -> str:
    """The key that the line sets, or ""."""
    name, equals, _ = line.partition("=")
    return name.strip() if equals and not line.lstrip().startswith("#") else ""


if __name__ == "__main__":
    main()
