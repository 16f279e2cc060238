"""What to do after a broker was not reached, and which hints are of no use. Pure."""

from collections.abc import Iterable, Sequence

COMMAND = "pulsarctl "


def after_no_answer(hosts: Iterable[str], option: str, *, connected: bool) -> str:
    """A broker can be started on this machine only, and only where nothing else answers."""
    if not connected and all(_is_local(host) for host in hosts):
        return f"start a broker with 'pulsarctl standalone', or name another one with {option} URL"
    return f"check the address, or name another broker with {option} URL"


def is_of_use(hint: str, words: Sequence[str]) -> bool:
    """False for a hint to run the command that has just failed."""
    _, found, command = hint.partition(COMMAND)
    return not found or not set(command.split()) <= {COMMAND.strip(), *words}


def _is_local(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")
