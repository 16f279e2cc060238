"""The `spark-submit` command that runs a pulsarctl command on a cluster, for schedulers that want one. Pure."""

import shlex
from collections.abc import Mapping, Sequence

REMOVED = ("--spark-submit", "--dry-run")


def spark_submit(arguments: Sequence[str], *, main: str, master: str, settings: Mapping[str, str]) -> str:
    """`arguments` are those of the pulsarctl command, and `main` is the file of its module `__main__`."""
    own = [each for each in arguments if each not in REMOVED]
    conf = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    return shlex.join(["spark-submit", "--master", master, *conf, main, *own])
