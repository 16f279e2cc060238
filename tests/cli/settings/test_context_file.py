"""The Go tool uses the context file, too: unknown keys survive, and each save replaces the whole file."""

import os
import stat
from pathlib import Path

import pytest
import yaml

from pulsarctl.errors import UsageProblem
from pulsarctl.settings.contexts import ContextFile, default_path
from tests.support.runner import Cli

FOREIGN = """
auth-info:
  prod:
    token: t
    issuer_endpoint: https://login.example.com
    client_id: me
contexts:
  prod:
    admin-service-url: http://prod:8080
    bookie-service-url: http://bookie:8083
    something-new: 1
current-context: prod
preferences: {colour: fabulous}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "pulsar" / "config"


def test_a_saved_file_and_its_name_are_on_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.fstat(fd).st_ino))
    ContextFile(path).save()
    assert synced == [path.stat().st_ino, path.parent.stat().st_ino]


def test_unknown_keys_and_contexts_survive_a_change(path: Path) -> None:
    path.parent.mkdir()
    path.write_text(FOREIGN)
    file = ContextFile(path)
    file.put("prod", {"web_url": "http://new:8080"})
    file.put("second", {"web_url": "http://second:8080", "token": "u"})
    file.current = "second"
    file.save()
    expected = yaml.safe_load(FOREIGN)
    expected["contexts"]["prod"]["admin-service-url"] = "http://new:8080"
    expected["contexts"]["second"] = {"admin-service-url": "http://second:8080"}
    expected["auth-info"]["second"] = {"token": "u"}
    expected["current-context"] = "second"
    assert yaml.safe_load(path.read_text()) == expected


def test_only_the_owner_can_read_the_file(path: Path) -> None:
    path.parent.mkdir()
    path.write_text(FOREIGN)
    path.chmod(0o644)
    file = ContextFile(path)
    file.save()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_symbolic_link_is_kept(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    real = tmp_path / "real"
    real.write_text(FOREIGN)
    path.symlink_to(real)
    file = ContextFile(path)
    file.delete("prod")
    file.save()
    assert path.is_symlink()
    assert yaml.safe_load(real.read_text())["contexts"] == {}


def test_a_failed_save_keeps_the_old_file(path: Path) -> None:
    path.parent.mkdir()
    path.write_text(FOREIGN)
    file = ContextFile(path)
    file.put("bad", {"web_url": object()})
    with pytest.raises(yaml.representer.RepresenterError):
        file.save()
    assert path.read_text() == FOREIGN
    assert list(path.parent.iterdir()) == [path]


def test_the_current_context_stays_current_when_renamed(path: Path) -> None:
    file = ContextFile(path)
    file.put("a", {"web_url": "http://a", "token": "t"})
    file.current = "a"
    file.rename("a", "b")
    assert file.current == "b"
    assert file.fields("b") == {"web_url": "http://a", "token": "t"}


def test_new_credentials_of_a_context_replace_its_old_ones(path: Path) -> None:
    file = ContextFile(path)
    file.put("a", {"web_url": "http://a", "token": "old", "tls_cert_file": "c"})
    file.put("a", {"token_file": "new"})
    assert file.fields("a") == {"web_url": "http://a", "token_file": "new", "tls_cert_file": "c"}


def test_a_name_in_use_is_refused(path: Path) -> None:
    file = ContextFile(path)
    file.put("a", {"web_url": "http://a"})
    file.put("b", {"web_url": "http://b"})
    with pytest.raises(UsageProblem, match="cannot rename the context: 'b' exists"):
        file.rename("a", "b")


@pytest.mark.parametrize("text", ["- a list", "contexts: [", "contexts: 3"])
def test_an_error_for_an_invalid_file_names_it(path: Path, text: str) -> None:
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(UsageProblem, match=str(path)):
        ContextFile(path).fields("a")


def test_pulsarconfig_names_the_file(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    environ = {"PULSARCONFIG": f"{first}:{second}", "HOME": "/nowhere"}
    assert default_path(environ) == first
    second.touch()
    assert default_path(environ) == second
    assert default_path({"HOME": "/home/me"}) == Path("/home/me/.config/pulsar/config")


HOSTILE = {
    "bytes that are not text": b"\xff\xfe\x00",
    "deep lists": b"[" * 50_000,
    "a number of too many digits": b"current-context: " + b"9" * 6000,
    "a date that does not exist": b"a: 2001-99-99",
    "a Python object": b"a: !!python/object/apply:os.system ['id']",
    "a list as a key": b"? [1]\n: 2",
    "a number as a name": b"contexts: {1: {admin-service-url: http://x}}\ncurrent-context: 1",
    "a list as the current context": b"contexts: {a: {}}\ncurrent-context: [a]",
    "a list as an address": b"contexts: {a: {admin-service-url: [1]}}\ncurrent-context: a",
    "a date as an address": b"contexts: {a: {admin-service-url: 2001-01-01}}\ncurrent-context: a",
    "a number as an address": b"contexts: {a: {admin-service-url: 0123}}\ncurrent-context: a",
    "a list as the contexts": b"contexts: [a]\ncurrent-context: a",
    "a number instead of a mapping": b"5",
}


@pytest.mark.parametrize("document", HOSTILE.values(), ids=HOSTILE)
def test_a_file_that_makes_no_sense_is_a_usage_problem(cli_alone: Cli, tmp_path: Path, document: bytes) -> None:
    path = tmp_path / "config"
    path.write_bytes(document)
    cli_alone.environ["PULSARCONFIG"] = str(path)
    outcome = cli_alone("tenants", "list")
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith("error: ")


def test_a_file_without_an_end_is_not_read_whole(cli_alone: Cli) -> None:
    cli_alone.environ["PULSARCONFIG"] = "/dev/zero"
    outcome = cli_alone("tenants", "list")
    assert outcome.stderr == "error: cannot read the context file /dev/zero: it is longer than 16 MiB\n"
