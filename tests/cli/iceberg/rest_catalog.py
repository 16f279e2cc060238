"""Iceberg's REST protocol in front of pyiceberg's SQLite catalog: the calls that pyiceberg's client makes for a table.

The server checks requirements and applies updates as catalogs do (`SqlCatalog.commit_table`), and answers conflicts
with 409. It is no copy of any product; Apache Iceberg's own fixture needs Maven and Java.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiohttp import web
from pydantic import BaseModel
from pyiceberg.catalog.rest import CreateTableRequest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, NamespaceAlreadyExistsError, NoSuchTableError
from pyiceberg.io import load_file_io
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.table import StagedTable, Table
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import TableRequirement, TableUpdate

START_SECONDS = 30.0


class Commit(BaseModel):
    requirements: tuple[TableRequirement, ...]
    updates: tuple[TableUpdate, ...]


class RestCatalog:
    """`conflicts` is how many of the next commits fail as if another one had been faster."""

    def __init__(self, warehouse: Path) -> None:
        warehouse.mkdir()
        uri = f"sqlite:///{warehouse / 'served.sqlite'}"
        self._catalog = SqlCatalog("served", uri=uri, warehouse=f"file://{warehouse}")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="rest-catalog", daemon=True)
        self.conflicts = 0
        self.url = ""

    def __enter__(self) -> Self:
        self._thread.start()
        self._on_loop(self._start())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._on_loop(self._runner.cleanup())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(START_SECONDS)
        self._loop.close()
        self._catalog.close()

    def _on_loop(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(START_SECONDS)

    async def _start(self) -> None:
        app = web.Application()
        table = "/v1/namespaces/{namespace}/tables/{table}"
        for method, path, answer in (
            ("GET", "/v1/config", self._config),
            ("POST", "/v1/namespaces", self._create_namespace),
            ("POST", "/v1/namespaces/{namespace}/tables", self._create_table),
            ("GET", table, self._load),
            ("POST", table, self._commit),
        ):
            app.router.add_route(method, path, _answered(answer))
        self._runner = web.AppRunner(app, shutdown_timeout=1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    def _config(self, request: web.Request, body: Any) -> Any:
        return {"defaults": {}, "overrides": {}}

    def _create_namespace(self, request: web.Request, body: Any) -> Any:
        self._catalog.create_namespace(tuple(body["namespace"]), body.get("properties") or {})
        return {"namespace": body["namespace"]}

    def _create_table(self, request: web.Request, body: Any) -> Any:
        """Staged: the commit that follows makes it."""
        wanted = CreateTableRequest.model_validate({"location": None, **body})
        assert wanted.stage_create, "`ops lake` makes a table in one commit"
        name = (request.match_info["namespace"], wanted.name)
        metadata = new_table_metadata(
            schema=wanted.table_schema,
            partition_spec=wanted.partition_spec or UNPARTITIONED_PARTITION_SPEC,
            sort_order=wanted.write_order or UNSORTED_SORT_ORDER,
            location=wanted.location or self._catalog._resolve_table_location(None, *name),
            properties=wanted.properties,
        )
        return {"metadata": metadata.model_dump(mode="json", by_alias=True), "config": {}}

    def _load(self, request: web.Request, body: Any) -> Any:
        table = self._catalog.load_table(_name(request))
        metadata = table.metadata.model_dump(mode="json", by_alias=True)
        return {"metadata-location": table.metadata_location, "metadata": metadata, "config": {}}

    def _commit(self, request: web.Request, body: Any) -> Any:
        if self.conflicts:
            self.conflicts -= 1
            raise CommitFailedException("another commit was faster")
        commit = Commit.model_validate(body)
        table = self._committed(_name(request), commit)
        return table.model_dump(mode="json", by_alias=True)

    def _committed(self, name: tuple[str, str], commit: Commit) -> Any:
        try:
            table: Table = self._catalog.load_table(name)
        except NoSuchTableError:
            empty: Any = None  # the updates of a staged table make its metadata
            table = StagedTable(name, empty, "", load_file_io(), self._catalog)
        return self._catalog.commit_table(table, commit.requirements, commit.updates)


def _name(request: web.Request) -> tuple[str, str]:
    return request.match_info["namespace"], request.match_info["table"]


def _answered(answer: Callable[[web.Request, Any], Any]) -> Callable[[web.Request], Awaitable[web.Response]]:
    """With the errors of the protocol."""

    async def handle(request: web.Request) -> web.Response:
        body = await request.json() if request.can_read_body else None
        try:
            return web.json_response(answer(request, body))
        except NoSuchTableError as error:
            return _problem(404, "NoSuchTableException", error)
        except NamespaceAlreadyExistsError as error:
            return _problem(409, "AlreadyExistsException", error)
        except CommitFailedException as error:
            return _problem(409, "CommitFailedException", error)

    return handle


def _problem(status: int, kind: str, error: Exception) -> web.Response:
    return web.json_response({"error": {"message": str(error), "type": kind, "code": status}}, status=status)
