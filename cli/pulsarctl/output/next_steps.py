"""The next steps in hints: for a broker that is not reachable, without repetition, and for the right cluster. Pure."""

import re
import shlex
from collections.abc import Iterable, Sequence

COMMAND = "pulsarctl "
_OF_A_CLUSTER = re.compile(  # help, completion, other contexts, and a broker to start are of no cluster
    rf"\b{COMMAND}(?=[a-z])(?!standalone\b|completion\b|context (?!show\b))(?![^'`]*--help\b)"
)


def after_no_answer(hosts: Iterable[str], option: str, *, connected: bool) -> str:
    """Suggests starting a broker only on this machine, and only if nothing else answers there."""
    if not connected and all(_is_local(host) for host in hosts):
        return f"start a broker with 'pulsarctl standalone', or choose another one with {option} URL"
    return f"check the address, or choose another broker with {option} URL"


def is_of_use(hint: str, words: Sequence[str]) -> bool:
    """False for a hint that suggests the command that just failed."""
    _, separator, command = hint.partition(COMMAND)
    return not separator or not set(command.split()) <= {COMMAND.strip(), *words}


def on_same_cluster(hint: str, options: Sequence[str]) -> str:
    """Adds the options that chose the cluster of a call to each command that its hint suggests."""
    if not options:
        return hint
    return _OF_A_CLUSTER.sub(lambda _: f"{COMMAND}{shlex.join(options)} ", hint)


def _is_local(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")
