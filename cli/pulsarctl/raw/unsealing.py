"""The handling of encrypted entries in `read`: it decrypts them, or fails, skips, or shows them, as the user chose."""

from pulsarctl.encryption.decryption import Decryption, not_decrypted
from pulsarctl.raw.entry import Entry


class Unsealing:
    """`action`: fail, discard, or consume, for what cannot be decrypted. `discarded` counts entries."""

    def __init__(self, decryption: Decryption, action: str) -> None:
        self._decryption = decryption
        self._action = action
        self.discarded = 0

    def opened(self, entry: Entry) -> Entry | None:
        """The entry in the clear, or as it is; None to skip it. Raises `NotDecrypted`."""
        if not entry.is_encrypted:
            return entry
        metadata = entry.metadata
        payload = self._decryption.decrypted(entry.payload, metadata.encryption_keys, metadata.encryption_param)
        if payload is not None:
            entry.unseal(payload)
            return entry
        if self._action == "fail":
            raise not_decrypted(entry.topic, str(entry.id), entry.encryption_keys, has_key=True)
        if self._action == "discard":
            self.discarded += 1
            return None
        return entry
