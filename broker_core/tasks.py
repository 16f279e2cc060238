"""Starts work concurrently with the caller. The broker owns every such task and ends it at stop."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

Spawn = Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
