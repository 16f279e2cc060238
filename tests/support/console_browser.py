"""The console as a browser sees it: pages over HTTP, their elements, and what they link to."""

import http.client
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urlencode

VOID = ("br", "input", "link", "meta")


class Outline(HTMLParser):
    """Open elements, all tags with their attributes, and the text. Fails on elements closed in a wrong order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def links(self) -> list[str]:
        return [one.get("href") or "" for one in self.named("a")]


@dataclass(frozen=True)
class Shown:
    status: int
    text: str
    headers: dict[str, str]

    @property
    def outline(self) -> Outline:
        return Outline(self.text)


@dataclass
class Browser:
    """Sends what a browser would, and keeps one cookie."""

    port: int
    headers: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, **query: str) -> Shown:
        return self._send("GET", f"{path}?{urlencode(query)}" if query else path, None)

    def post(self, path: str, **fields: str) -> Shown:
        return self._send("POST", path, urlencode(fields))

    def _send(self, method: str, path: str, body: str | None) -> Shown:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        sent = {"Sec-Fetch-Site": "same-origin", "User-Agent": "Mozilla/5.0", **self.headers}
        if body is not None:
            sent |= {"Content-Type": "application/x-www-form-urlencoded", "Origin": f"http://127.0.0.1:{self.port}"}
        try:
            connection.request(method, path, body, {**sent, **self.headers})
            response = connection.getresponse()
            shown = Shown(response.status, response.read().decode(), dict(response.getheaders()))
        finally:
            connection.close()
        if cookie := shown.headers.get("Set-Cookie"):
            self.headers["Cookie"] = cookie.partition(";")[0]
        return shown
