"""A headless Chromium that a test drives over the DevTools protocol, with the HTTP library that the broker has, too."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import signal
from asyncio.subprocess import DEVNULL, Process
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp

from tests.support.condition import wait_until

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SECONDS = 60.0  # for each wait; the browser is slow on a busy machine
POLLED = """
new Promise(done => {{
  const started = Date.now();
  const look = () => {{
    const found = {expression};
    if (found || Date.now() - started > 1000) done(Boolean(found)); else setTimeout(look, 20);
  }};
  look();
}})
"""
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)


class Chromium:
    """One tab. `messages`: what the browser's console says, such as violations of the Content-Security-Policy."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._number = 0
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self.messages: list[str] = []

    async def __aenter__(self) -> Self:
        assert CHROMIUM is not None
        command = (CHROMIUM, *FLAGS, f"--user-data-dir={self._directory}", "about:blank")
        self._process: Process = await asyncio.create_subprocess_exec(
            *command, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True
        )
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None, connect=SECONDS))
        self._socket = await self._session.ws_connect(await self._address(), max_msg_size=0)
        self._reader = asyncio.create_task(self._read())
        for domain in ("Page", "Runtime", "Log"):
            await self.send(f"{domain}.enable")
        return self

    async def __aexit__(self, _kind: type[BaseException] | None, _error: object, _where: TracebackType | None) -> None:
        self._reader.cancel()
        await self._socket.close()
        await self._session.close()
        self._process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(SECONDS):
            await self._process.wait()

    async def _address(self) -> str:
        """The address of the tab. Waits until the browser has written its port."""
        file = self._directory / "DevToolsActivePort"
        await asyncio.to_thread(wait_until, lambda: file.exists() and bool(file.read_text()), SECONDS)
        port = file.read_text().split("\n")[0]
        async with self._session.get(f"http://127.0.0.1:{port}/json/list") as response:
            tabs = [one for one in await response.json() if one["type"] == "page"]
        return str(tabs[0]["webSocketDebuggerUrl"])

    async def _read(self) -> None:
        async for message in self._socket:
            found = json.loads(message.data)
            if answer := self._answers.pop(found.get("id", 0), None):
                answer.set_result(found)
            elif found.get("method") == "Log.entryAdded":
                self.messages.append(found["params"]["entry"]["text"])
            elif found.get("method") == "Runtime.exceptionThrown":
                self.messages.append(json.dumps(found["params"]["exceptionDetails"]))

    async def send(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        answer = self._answers[self._number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": self._number, "method": method, "params": parameters})
        async with asyncio.timeout(SECONDS):
            found = await answer
        return found.get("result", {})

    async def run(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page; None while a new page is loading."""
        found = await self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        return found.get("result", {}).get("value")

    async def until(self, expression: str) -> None:
        """Waits until an expression is true in the page, which looks itself: a page that is left ends its wait."""
        async with asyncio.timeout(SECONDS):
            while not await self.run(POLLED.format(expression=expression)):
                pass

    async def open(self, url: str) -> None:
        await self.run("window.left = true")
        await self.send("Page.navigate", url=url)
        await self._arrived()

    async def _arrived(self) -> None:
        await self.until("!window.left && document.readyState === 'complete'")

    async def click(self, text: str) -> None:
        """Follows the link, or presses the button, whose text begins like this, and waits for the next page."""
        wanted = json.dumps(text)
        await self.run("window.left = true")
        find = f"[...document.querySelectorAll('a, button')].find(e => e.textContent.startsWith({wanted}))"
        assert await self.run(f"{find} ? ({find}.click(), true) : false"), await self.run("document.body.innerText")
        await self._arrived()

    async def screenshot(self, file: Path, scheme: str) -> None:
        """A picture of the visible part of the page. `scheme`: `light` or `dark`."""
        await self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        found = await self.send("Page.captureScreenshot", format="png")
        await asyncio.to_thread(file.write_bytes, base64.b64decode(found["data"]))

    async def size(self, width: int, height: int) -> None:
        await self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
