"""The transactions of the admin REST API. A broker without transactions answers with status 503."""

from typing import Any

from pulsarctl.admin.http import AdminHttp
from pulsarctl.values.names import segment, topic_path

ROOT = "/admin/v3/transactions"
Document = dict[str, Any]


class Transactions:
    def __init__(self, http: AdminHttp) -> None:
        self._http = http

    def open(self) -> list[Document]:
        """The metadata of all open transactions, of all coordinators."""
        return list((self._http.get(f"{ROOT}/slowTransactions/0") or {}).values())

    def buffer_stats(self, topic: str) -> Document:
        return dict(self._http.get(f"{ROOT}/transactionBufferStats/{_path(topic)}"))

    def pending_ack_stats(self, topic: str, subscription: str) -> Document:
        return dict(self._http.get(f"{ROOT}/pendingAckStats/{_path(topic)}/{segment(subscription)}"))


def _path(topic: str) -> str:
    return topic_path(topic).partition("/")[2]
