"""Removes secrets from what is handed to others: by the name of a key, by form, and by value. Pure.

The value of a key that names a secret is masked, and remembered: the same text is masked wherever else it appears. What
looks like a secret (a JSON Web Token, a private key, the user in a URL) is masked without a name. A secret under a name
that says nothing, in a form that says nothing, cannot be recognized.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import quote

MASK = "***"
LEAST_LENGTH = 6  # a shorter value appears by chance in other words

_WORDS = (
    "token|secret|passw|pwd|passphrase|credential|private_?-?key|auth_?-?param|authentication_?-?param|auth_?-?data|"
    "api_?-?key|access_?-?key|encryption_?-?key_?-?value|jaas_?-?conf|cookie"
)
_KEY = re.compile(rf"{_WORDS}|^authorization$", re.IGNORECASE)
_NO_SECRET = re.compile("(file|path|claim|class|enabled|provider|public_?-?key|seconds|minutes|millis)$", re.IGNORECASE)
_ALWAYS_SECRET = re.compile("secret|passw|passphrase", re.IGNORECASE)
_PAIR = re.compile(  # name, separator, and a value that is quoted or ends at a separator
    rf"""([\w.\-]*(?:{_WORDS})[\w.\-]*)(\\?["']?\s*[=:]\s*)"""
    r"""(\\?["'])?((?(3)(?:(?!\3).)+|[^\s,;&}\])"']+))""",
    re.IGNORECASE,
)
_FORMS = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), MASK),
    (re.compile(r"\beyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)?"), MASK),
    (re.compile(r"\b(Bearer|Basic)\s+[\w+/=.~-]{4,}", re.IGNORECASE), rf"\1 {MASK}"),
    (re.compile(r"://[^/\s@\"']+@"), f"://{MASK}@"),
    (re.compile(r"\bdata:[^,\s\"']*,[\w+/=%-]+"), f"data:{MASK}"),
    (re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"), MASK),
)


def is_secret(key: str) -> bool:
    """Whether the name of a key says that its value is a secret."""
    return bool(_KEY.search(key)) and not _NO_SECRET.search(key)


def command_line(words: Sequence[str], short: Collection[str] = ()) -> list[str]:
    """The words with masked values of options that carry secrets, such as `--token X` and `--aws-secret=X`.

    `short`: options of the command that carry secrets too, such as `-sk`. Text that has the form of a secret is masked
    everywhere.
    """
    shown: list[str] = []
    is_value = False
    for word in words:
        flag, separator, _ = word.partition("=")
        names_secret = flag in short or (flag.startswith("--") and is_secret(flag))
        masked = f"{flag}={MASK}" if separator else word
        shown.append(MASK if is_value else masked if names_secret else _word(word, short))
        is_value = names_secret and not separator
    return shown


def _word(word: str, short: Collection[str]) -> str:
    """A value may follow a short option without a space."""
    options = sorted((each for each in short if not each.startswith("--")), key=len, reverse=True)
    joined = next((each for each in options if word.startswith(each)), None)
    return f"{joined}{MASK}" if joined else Redactor().text(word)


class Redactor:
    """Masks secrets in documents and texts. `learn` first what else may contain the same secrets."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._known: set[str] = set()
        for each in known:
            self._remember(each)

    def learn(self, value: Any) -> None:
        """Remembers the secrets of a document."""
        for secret in _secrets(value):
            self._remember(secret)

    def document(self, value: Any) -> Any:
        """The same document with masked values, also of JSON in its strings."""
        if isinstance(value, dict):
            return {self.text(str(key)): self._value(str(key), each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.document(each) for each in value]
        if isinstance(value, str):
            nested = _nested(value)
            return self.text(value) if nested is None else json.dumps(self.document(nested), ensure_ascii=False)
        return value

    def text(self, text: str) -> str:
        for secret in sorted(self._known, key=len, reverse=True):
            text = text.replace(secret, MASK)
        for pattern, mask in _FORMS:
            text = pattern.sub(mask, text)
        return _PAIR.sub(_masked_pair, text)

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


def _masked_pair(found: re.Match[str]) -> str:
    name, between, quotation, value = found.groups()
    if not is_secret(name) or value in ("true", "false", "null", "None", MASK):
        return found.group()
    return f"{name}{between}{quotation or ''}{MASK}"


def _secrets(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            if _is_secret_value(str(key), each) and not isinstance(each, dict | list | tuple):
                yield str(each)
            yield from _secrets(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _secrets(each)
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
