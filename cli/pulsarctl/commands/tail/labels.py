"""Lines of several topics, each with the name of its topic. A color repeats the name for the eye."""

from dataclasses import dataclass, field

from pulsarctl.output import render
from pulsarctl.records.record import Record
from pulsarctl.values.names import without_partition
from pulsarctl.values.times import utc

STYLES = ("cyan", "magenta", "green", "yellow", "blue", "red", "bold cyan", "bold magenta", "bold green", "bold yellow")
LABEL_MAX = 48  # a longer name is not cut: its lines are indented further


@dataclass
class Labels:
    """`namespace`: the one of all topics, which the labels omit; None: they are of several."""

    namespace: str | None = None
    _styles: dict[str, str] = field(default_factory=dict)
    _width: int = 0

    def add(self, topic: str) -> None:
        """Widens the column for the topic, and gives the topic its color."""
        if topic not in self._styles:
            self._styles[topic] = STYLES[len(self._styles) % len(STYLES)]
            self._width = min(LABEL_MAX, max(self._width, len(self._name(topic))))

    def show(self, record: Record, text: str) -> None:
        topic = without_partition(record.topic)
        self.add(topic)
        render.labeled(f"{self._name(topic):<{self._width}}", self._styles[topic], text)

    def _name(self, topic: str) -> str:
        short = topic.removeprefix("persistent://")
        return short.removeprefix(f"{self.namespace}/") if self.namespace else short


def line(record: Record) -> str:
    """`12:34:56.789  key=ada  the value`, in UTC."""
    parts = [utc(record.publish_time_ms)[11:23]]
    if record.key is not None:
        parts.append(f"key={_text(record.key)}")
    parts.append("(tombstone)" if record.value is None else _text(record.value))
    if record.error:
        parts.append(f"({record.error})")
    return "  ".join(parts)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace").replace("\n", "\\n").replace("\r", "\\r")
