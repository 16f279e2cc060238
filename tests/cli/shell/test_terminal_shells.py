"""Tab in bash, zsh, fish, and the prompt of `pulsarctl shell`: names that others chose are data, whatever they hold."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml

from tests.cli.drawn import SECONDS, Drawn
from tests.cli.shell.terminal_shell import SHELLS, TerminalShell, is_missing
from tests.support.condition import wait_until
from tests.support.http_stub import HttpStub, Reply, Request

HOSTILE = "z$(touch pwned)`touch pwned`'\" ;touch pwned"
NAMES = [
    HOSTILE,
    "a two  words *?[x]{1,2}~#",
    "b!!\\\\ n|touch pwned&",
    "d=x:y@z",
]
RAW = ["n\ntouch pwned", "r\x1b[31m\x1b]0;pwned\x07", "t\ttab", "u\u202etxt", "\x7f"]
TEXT = {
    "/admin/v2/tenants": ["t", HOSTILE],
    "/admin/v2/clusters": NAMES,
    "/admin/v2/brokers": NAMES,
    "/admin/v2/namespaces/t": ["t/n", f"t/{HOSTILE}", *(f"t/{name}" for name in RAW)],
    "/admin/v2/persistent/t/n": [f"persistent://t/n/{name}" for name in [*NAMES, *RAW, "-rf"]],
    "/admin/v2/persistent/public/default": [f"persistent://public/default/{name}" for name in ["--url=x", "t/n/x"]],
    "/admin/v2/persistent/t/n/x/subscriptions": [*NAMES, *RAW],
}


def answer(request: Request) -> Reply:
    return Reply(body=TEXT.get(unquote(request.path).partition("?")[0], []))


@pytest.fixture(scope="module")
def stub() -> Iterator[HttpStub]:
    with HttpStub(answer) as stub:
        yield stub


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """With contexts, whose names come from a file that others may have written."""
    file = tmp_path / ".config" / "pulsar" / "config"
    file.parent.mkdir(parents=True)
    file.write_text(yaml.safe_dump({"contexts": {name: {} for name in [*NAMES, *RAW]}}))
    return tmp_path


LINES = [
    ("tenants get z", ["tenants", "get", HOSTILE]),
    ("namespaces topics z", ["namespaces", "topics", f"{HOSTILE}/"]),
    ("namespaces topics t/z", ["namespaces", "topics", f"t/{HOSTILE}"]),
    *((f"topics stats t/n/{name[0]}", ["topics", "stats", f"t/n/{name}"]) for name in NAMES),
    ("topics stats persistent://t/n/z", ["topics", "stats", f"persistent://t/n/{HOSTILE}"]),
    ("clusters get z", ["clusters", "get", HOSTILE]),
    ("namespaces unload t/n -d z", ["namespaces", "unload", "t/n", "-d", HOSTILE]),
    ("consume t/n/x -s z", ["consume", "t/n/x", "-s", HOSTILE]),
    ("--context z", ["--context", HOSTILE]),
    ("--context=d", ["--context=d=x:y@z"]),
    ("context use z", ["context", "use", HOSTILE]),
    ("topics stats -- t/n/-r", ["topics", "stats", "--", "t/n/-rf"]),
    ("topics stats --ur", ["topics", "stats", "--url"]),
    ("consume t -t Sh", ["consume", "t", "-t", "Shared"]),
    ("tenants list -o jsonl", ["tenants", "list", "-o", "jsonl"]),
    ("produce t --lines wor", ["produce", "t", "--lines", "worksheet.txt"]),
    # nothing is offered
    ("topics stats t/n/n", ["topics", "stats", "t/n/n"]),
    ("context use u", ["context", "use", "u"]),
    ("topics delete nix/nix/", ["topics", "delete", "nix/nix/"]),
]


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_names_as_data(shell: str, stub: HttpStub, home: Path) -> None:
    if is_missing(shell):
        pytest.skip(f"{shell} is not installed")
    (home / "worksheet.txt").touch()
    with TerminalShell(shell, home, {"PULSARCTL_ADMIN_URL": stub.url}) as terminal:
        completed = [(line, terminal.complete(f"pulsarctl {line}")) for line, _ in LINES]
    assert completed == LINES
    assert not (home / "pwned").exists()
    assert "\x1b]0;pwned" not in terminal.shown


@pytest.mark.slow
@pytest.mark.parametrize("quote", ['"', "'"])
def test_bash_leaves_a_quote_open_after_a_slash(quote: str, stub: HttpStub, home: Path) -> None:
    with TerminalShell("bash", home, {"PULSARCTL_ADMIN_URL": stub.url}) as terminal:
        assert terminal.complete(f"pulsarctl topics stats {quote}t/\t-r") == ["topics", "stats", "t/n/-rf"]


def test_the_prompt_completes_names_as_data(stub: HttpStub, home: Path) -> None:
    environ = {"HOME": str(home), "PULSARCTL_ADMIN_URL": stub.url, "PROMPT_TOOLKIT_NO_CPR": "1"}
    with Drawn(home, "shell", environ=environ) as prompt:
        prompt.wait_for(lambda it: ")>" in it.text)
        prompt.press("topics stats t/n/a\t")
        prompt.wait_for(lambda it: "words" in it.text)
        prompt.press("\r")
        wait_until(lambda: "/stats" in stub.requests[-1].path, SECONDS)
        prompt.press("topics stats t/n/n\t")
        wait_until(lambda: stub.requests[-1].path.partition("?")[0] == "/admin/v2/persistent/t/n", SECONDS)
        prompt.press("\x03context use d\t")
        prompt.wait_for(lambda it: "=x:y@z" in it.text)
        prompt.press("\x03exit\r")
        assert prompt.finish() == 0
    assert "\x1b]0;pwned" not in prompt.raw
    statistics = [unquote(each.path).split("/stats")[0] for each in stub.requests if "/stats" in each.path]
    assert statistics == ["/admin/v2/persistent/t/n/a two  words *?[x]{1,2}~#"]
