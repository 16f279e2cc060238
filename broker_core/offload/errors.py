"""Why a ledger is not offloaded. `Unreachable` and `Damaged` of the storage say why a copy is not read."""


class OffloadFailed(Exception):
    """`str(error)` is a sentence for a human; it names the store or the setting."""


class NotConfigured(OffloadFailed):
    """There is no driver, no bucket, or no pyarrow."""
