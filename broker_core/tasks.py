"""Starting work beside the caller. The broker owns every task that starts this way, and ends it at stop."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

Spawn = Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
