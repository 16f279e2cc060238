"""Removes secrets from what is handed to others: by the name of a key, by form, and by value. Pure.

The value of a key that names a secret is masked, and remembered: the same text is masked wherever else it appears. What
looks like a secret (a JSON Web Token, a private key, the user in a URL) is masked without a name. A secret under a name
that says nothing, in a form that says nothing, cannot be recognized.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any
from urllib.parse import quote, unquote

MASK = "***"
LEAST_LENGTH = 6  # a shorter value appears by chance in other words

_WORDS = (
    "token|secret|passw|pwd|passphrase|credential|private[._-]?key|auth[._-]?param|authentication[._-]?param|"
    "auth[._-]?data|plugin[._-]?param|api[._-]?key|access[._-]?key|account[._-]?key|encryption[._-]?key[._-]?value|"
    "jaas[._-]?conf|cookie"
)
_KEY = re.compile(rf"{_WORDS}|^authorization$", re.IGNORECASE)
_NO_SECRET = re.compile("(file|path|claim|class|enabled|provider|public_?-?key|seconds|minutes|millis)$", re.IGNORECASE)
_ALWAYS_SECRET = re.compile("secret|passw|passphrase", re.IGNORECASE)
_PAIR = re.compile(  # name, separator, and a value that is quoted or ends at a separator
    rf"""([\w.\-]*(?:{_WORDS})[\w.\-]*)(\\?["']?\s*[=:]\s*)"""
    r"""(\\?["'])?((?(3)(?:(?!\3).)+|[^\s,;&}\])"']+))""",
    re.IGNORECASE,
)
_WHOLE_PAIR = re.compile(r"([\w.\-]+)[=:](?!//)")
_FORMS = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), MASK),
    (re.compile(r"\beyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)?"), MASK),
    # credentials in base64, and no word of a sentence, such as "Basic authentication"
    (re.compile(r"\b((?i:Bearer|Basic))\s+(?=\S*(?:[\d=+]|[a-z][A-Z]))[\w+/=.~-]{4,}"), rf"\1 {MASK}"),
    # the user in a URL; the container of Azure, or a part of a topic's name, has the same form
    (re.compile(r"(?<!abfs)(?<!abfss)(?<!wasb)(?<!wasbs)(?<!persistent)://[^/\s@\"']+@"), f"://{MASK}@"),
    # a password with a slash; not the path after a port
    (re.compile(r"://[^\s:/@\[\"']+:(?!\d+[/,])[^\s@\"']+@"), f"://{MASK}@"),
    (re.compile(rf"([?&](?:[\w.-]*(?:{_WORDS})[\w.-]*|sig|X-Amz-Signature)=)[^&\s\"']+", re.IGNORECASE), rf"\1{MASK}"),
    (re.compile(r"\bdata:[^,\s\"']*,[^\s\"']+"), f"data:{MASK}"),
    (re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"), MASK),
)
# the paths of a dynamic setting and of a property end with a key and its value
_IN_PATH = re.compile(r"(/(?:brokers/configuration|property)/)([^/\s\"'?]+)/[^/\s\"'?]+")


def is_secret(key: str) -> bool:
    """Whether a key has a name of a secret."""
    return bool(_KEY.search(key)) and not _NO_SECRET.search(key)


def forms_masked(text: str) -> str:
    """A sentence without what has the form of a secret. Names in a sentence say nothing about the next word."""
    for pattern, mask in _FORMS:
        text = pattern.sub(mask, text)
    return _IN_PATH.sub(_masked_in_path, text)


def command_line(words: Sequence[str], declared: Mapping[str, bool]) -> list[str]:
    """The words with masked values of options that carry secrets, such as `--token X`, `--aws-secret=X`, and `-skX`.

    `declared`: whether the value is a secret, by the options of the command. The name of any other option decides.
    Pairs whose key names a secret, and text that has the form of a secret, are masked in every word.
    """
    short = sorted((name for name in declared if declared[name] and not name.startswith("--")), key=len, reverse=True)
    shown: list[str] = []
    remaining = iter(words)
    for word in remaining:
        flag, separator, value = word.partition("=")
        is_option = flag in declared or flag.startswith("--")
        if declared.get(flag, is_option and is_secret(flag)):
            shown += [f"{flag}={MASK}"] if separator else [word, *(MASK for _ in islice(remaining, 1))]
        elif joined := next((option for option in short if word.startswith(option)), None):
            shown.append(joined + MASK)
        else:
            shown.append(f"{flag}={_word(value)}" if separator and is_option else _word(word))
    return shown


def _word(word: str) -> str:
    """A word is whole: its secret does not end at a comma or a quotation mark."""
    pair = _WHOLE_PAIR.match(word)
    if pair and is_secret(pair[1]):
        return f"{pair.group()}{MASK}"
    return f"data:{MASK}" if word.startswith("data:") else str(Redactor().document(word))


class Redactor:
    """Masks secrets in documents and texts. `learn` first what else may contain the same secrets."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._known: set[str] = set()
        for secret in known:
            self._remember(secret)

    def learn(self, value: Any) -> None:
        """Remembers the secrets of a document."""
        for secret in _secrets(value):
            self._remember(secret)

    def document(self, value: Any) -> Any:
        """The same document with masked values, also of JSON in its strings."""
        if isinstance(value, dict):
            return {self.text(str(key)): self._value(str(key), member) for key, member in value.items()}
        if isinstance(value, list | tuple):
            return [self.document(member) for member in value]
        if isinstance(value, str):
            nested = _nested(value)
            shown = self.document(nested)
            return self.text(value) if shown == nested else json.dumps(shown, ensure_ascii=False)
        return value

    def text(self, text: str) -> str:
        for secret in sorted(self._known, key=len, reverse=True):
            text = text.replace(secret, MASK)
        return _PAIR.sub(_masked_pair, forms_masked(text))

    def _value(self, key: str, value: Any) -> Any:
        return MASK if _is_secret_value(key, value) else self.document(value)

    def _remember(self, secret: str) -> None:
        """Also in the forms that it has in URLs and in JSON."""
        if len(secret) >= LEAST_LENGTH:
            self._known |= {secret, quote(secret, safe=""), json.dumps(secret)[1:-1]}


def _is_secret_value(key: str, value: Any) -> bool:
    """Switches and counts say nothing, except for a password of digits."""
    if value in (None, "") or isinstance(value, bool) or not is_secret(key):
        return False
    return not isinstance(value, int | float) or bool(_ALWAYS_SECRET.search(key))


def _masked_pair(match: re.Match[str]) -> str:
    name, between, quotation, value = match.groups()
    if not is_secret(name) or value in ("true", "false", "null", "None", MASK):
        return match.group()
    return f"{name}{between}{quotation or ''}{MASK}"


def _masked_in_path(match: re.Match[str]) -> str:
    start, key = match.groups()
    return f"{start}{key}/{MASK}" if is_secret(unquote(key)) else match.group()


def _secrets(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, member in value.items():
            if _is_secret_value(str(key), member) and not isinstance(member, dict | list | tuple):
                yield str(member)
            yield from _secrets(member)
    elif isinstance(value, list | tuple):
        for member in value:
            yield from _secrets(member)
    elif isinstance(value, str) and (nested := _nested(value)) is not None:
        yield from _secrets(nested)


def _nested(text: str) -> Any:
    """The object or array that a string contains as JSON; None for other strings."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
