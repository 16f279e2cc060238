"""The copies of a topic's offloaded ledgers in a tier store: which ledger is read from which object.

The broker says which copy of a ledger counts, by its UUID, and the store where that object is. Copies that Apache
Pulsar wrote have another format and other names, so their ledgers are read through the broker.
"""

from broker_core.names import ledger_name, parse_topic
from broker_core.offload.manifest import objects_folder
from pulsarctl.admin.client import AdminClient
from pulsarctl.errors import CliError
from pulsarctl.tables.tier_store import TierStore


class TierCopies:
    """Asks the broker once for each topic, and the store once for each topic and broker that keeps copies there."""

    def __init__(self, admin: AdminClient, tier: TierStore) -> None:
        self._admin = admin
        self._uri = tier.uri
        self._store = tier.open()
        self._known: dict[str, dict[int, str]] = {}

    def copy_of(self, topic: str, ledger_id: int) -> str:
        """The path below the store, or an empty text. Raises `CliError` if the store cannot be listed."""
        if topic not in self._known:
            self._known[topic] = self._copies(topic)
        return self._known[topic].get(ledger_id, "")

    def _copies(self, topic: str) -> dict[int, str]:
        ledgers = self._admin.topics.internal_info(topic).get("ledgers") or []
        names = {
            f"{ledger['ledgerId']}-{ledger['offloadedContextUuid']}.json": int(ledger["ledgerId"])
            for ledger in ledgers
            if ledger.get("isOffloaded") and ledger.get("offloadedContextUuid")
        }
        if not names:
            return {}
        try:
            paths = [path for path in self._objects(topic) if path.rpartition("/")[2] in names]
        except OSError as error:
            raise CliError(f"cannot list {self._uri}: {error}", hint="check tier_store and its credentials") from error
        return {names[path.rpartition("/")[2]]: path.removesuffix(".json") + ".parquet" for path in paths}

    def _objects(self, topic: str) -> list[str]:
        """The copies of the topic in the folders of all brokers that use this store."""
        from pyarrow import fs

        store, prefix = self._store, len(self._store.root) + 1
        instances = store.filesystem.get_file_info(fs.FileSelector(store.root))
        folders = [
            f"{instance.path}/{objects_folder(ledger_name(parse_topic(topic)))}"
            for instance in instances
            if not instance.is_file
        ]
        selectors = [fs.FileSelector(folder, allow_not_found=True) for folder in folders]
        return [info.path[prefix:] for instance in selectors for info in store.filesystem.get_file_info(instance)]
