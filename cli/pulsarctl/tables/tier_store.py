"""The store of offloaded ledgers, as a table reaches it without the broker: its URI and its credentials.

It travels to tasks. Credentials that no option names come from where the task runs: the environment, a profile, or the
role of the machine.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from broker_core.offload.errors import OffloadFailed
from broker_core.offload.stores import Store, StoreLimits, open_store
from pulsarctl.auth.plugins import read_secret
from pulsarctl.errors import UsageProblem
from pulsarctl.tables import option_values as values
from pulsarctl.values.stores import offload_settings, with_credentials

OPEN_MAX = 4  # stores of one process: a table has one


@dataclass(frozen=True, slots=True)
class TierStore:
    """`access_key` with the secret: of S3, or the account of Azure with its key."""

    uri: str
    access_key: str = ""
    secret_key: str = field(default="", repr=False)
    secret_key_file: str = ""
    timeout_seconds: float = 60.0

    def open(self) -> Store:
        """Makes no request. Raises `UsageProblem` for a URI or a file that cannot be used."""
        return _opened(self)


@lru_cache(OPEN_MAX)
def _opened(tier: TierStore) -> Store:
    settings = offload_settings(tier.uri)
    if tier.access_key:
        secret = read_secret(tier.secret_key_file, "secret key") if tier.secret_key_file else tier.secret_key
        settings = with_credentials(settings, tier.access_key, secret)
    limits = StoreLimits(tier.timeout_seconds, tier.timeout_seconds)
    try:
        return open_store(settings["managedLedgerOffloadDriver"], settings, limits)
    except OffloadFailed as error:
        raise UsageProblem(f"option tier_store: {error}") from error


TIER_READERS: Mapping[str, values.Reader] = {
    "tier_store": values.a_text,
    "tier_access_key": values.a_text,
    "tier_secret_key": values.a_text,
    "tier_secret_key_file": values.a_text,
}


def tier_of(values: dict[str, Any], timeout_seconds: float) -> TierStore | None:
    """Removes the options of `TIER_READERS` from those found. Raises `UsageProblem`."""
    settings = {name.removeprefix("tier_"): values.pop(name) for name in TIER_READERS if name in values}
    uri = settings.pop("store", "")
    if not uri:
        if settings:
            raise UsageProblem(
                f"option tier_{min(settings)}: it needs tier_store", hint="name the store of the ledgers"
            )
        return None
    if bool(settings.get("access_key")) != bool(settings.get("secret_key") or settings.get("secret_key_file")):
        raise UsageProblem(
            "cannot use the credential of the store: the access key or the secret key is missing",
            hint="specify tier_access_key, and tier_secret_key_file or tier_secret_key",
        )
    offload_settings(uri)  # an unusable URI is refused before a job starts
    return TierStore(uri, **settings, timeout_seconds=timeout_seconds)
