"""The files of a command -> one document: each `-f` is a layer, and later layers merge over earlier ones.

Inside a layer, which may be a directory, an object is defined once. Between layers, objects merge, and every other
value of the later layer replaces that of the earlier one; `null` takes it away.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from pulsarctl.errors import UsageProblem
from pulsarctl.output import streams
from pulsarctl.state import scalable
from pulsarctl.state.documents import Map, parse
from pulsarctl.values.names import full_topic, scalable_topic

STDIN = "-"
ENDINGS = (".yaml", ".yml", ".json")
BYTES_MAX = 256 << 20  # of all files together
_OBJECT_DEPTH = 2  # topics/NAME: a name without a value stands for an object without settings


def load(places: Iterable[str], variables: Mapping[str, str]) -> Map:
    """The merged document. Raises `UsageProblem`."""
    files = _Files(variables)
    merged = Map()
    for place in places:
        _merge(merged, files.layer(place))
    return merged


class _Files:
    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self._left = BYTES_MAX

    def layer(self, place: str) -> Map:
        layer = Map()
        for name, text in self._texts(place):
            for document in parse(text, name, self._variables):
                _add(layer, _canonical(document))
        return layer

    def _texts(self, place: str) -> Iterable[tuple[str, str]]:
        if place == STDIN:
            return [("stdin", self._bounded("stdin", streams.stdin().read(self._left + 1)))]
        path = Path(place)
        if not path.is_dir():
            return [(place, self._read(path))]
        paths = sorted(file for file in path.iterdir() if file.suffix in ENDINGS and file.is_file())
        if not paths:
            raise UsageProblem(f"cannot read {place}: it has no files ending in {', '.join(ENDINGS)}")
        return ((str(file), self._read(file)) for file in paths)

    def _read(self, path: Path) -> str:
        try:
            with path.open(encoding="utf-8-sig") as file:
                return self._bounded(str(path), file.read(self._left + 1))
        except OSError as error:
            raise UsageProblem(f"cannot read {path}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise UsageProblem(f"cannot read {path}: it is not UTF-8 ({error.reason} at byte {error.start})") from error

    def _bounded(self, name: str, text: str) -> str:
        self._left -= len(text)
        if self._left < 0:
            raise UsageProblem(f"cannot read {name}: the files have more than {BYTES_MAX >> 20} MiB together")
        return text


def _canonical(document: Map) -> Map:
    """The document with full topic names, so that `orders` and `persistent://public/default/orders` are the same."""
    for section, full_name in (("topics", full_topic), (scalable.SECTION, scalable_topic)):
        topics = document.get(section)
        if isinstance(topics, Map):
            full = Map()
            for name, value in topics.items():
                _put_new(full, _full(name, full_name), _with_subscriptions(value), topics.marks[name])
            document[section] = full
    return document


def _with_subscriptions(topic: object) -> object:
    """Subscriptions have names only, most of the time: no value stands for no settings, also in an overlay."""
    subscriptions = topic.get("subscriptions") if isinstance(topic, Map) else None
    if isinstance(subscriptions, Map):
        subscriptions.update({name: Map() for name, value in subscriptions.items() if value is None})
    return topic


def _full(name: str, full_name: Callable[[str], str]) -> str:
    try:
        return full_name(name)
    except UsageProblem:
        return name  # the grammar reports it with its line


def _add(layer: Map, document: Map) -> None:
    """Adds a document of the same layer. Raises `UsageProblem` for an object that is defined already."""
    for section, value in document.items():
        known = layer.get(section)
        if isinstance(known, list) and isinstance(value, list):
            layer[section] = known + [member for member in value if member not in known]
        elif isinstance(known, Map) and isinstance(value, Map):
            for name, member in value.items():
                _put_new(known, name, member, value.marks[name])
        elif known is None or value is not None:
            layer.put(section, value, document.marks[section])


def _put_new(known: Map, name: str, value: object, mark: tuple[str, int]) -> None:
    if name in known:
        file, line = known.marks[name]
        raise UsageProblem(
            f"{mark[0]}:{mark[1]}: '{name}' is defined already, in {file}:{line}",
            hint="define it once, or give the second definition with a -f of its own as an overlay",
        )
    known.put(name, value, mark)


def _merge(base: Map, overlay: Map, depth: int = 0) -> None:
    for key, value in overlay.items():
        known = base.get(key)
        if isinstance(known, Map) and isinstance(value, Map):
            _merge(known, value, depth + 1)
        elif key == "scope" and depth == 0 and isinstance(known, list) and isinstance(value, list):
            base[key] = known + [name for name in value if name not in known]
        elif value is None and depth < _OBJECT_DEPTH and isinstance(known, Map):
            continue
        elif value is None and depth >= _OBJECT_DEPTH:
            base.pop(key, None)
            base.marks.pop(key, None)
        else:
            base.put(key, value, overlay.marks[key])
