"""`pulsarctl storage`: prints data files and locates damage, without a broker."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_core.testing import EmbeddedBroker
from tests.support.runner import Cli, Outcome


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    """The data directory of a broker that stopped cleanly, with two messages."""
    directory = tmp_path / "data mit ümlaut"
    with EmbeddedBroker(directory) as broker:
        cli = Cli(tmp_path, broker.http_url, broker.service_url)
        assert cli("topics", "create-subscription", "t", "-s", "s", "-m", "earliest").exit_code == 0
        assert cli("produce", "t", "-m", "one", "-m", "two").exit_code == 0
    yield directory


def the_ledger(data: Path) -> Path:
    (found,) = data.rglob("*.ledger")
    return found


def test_checking_an_undamaged_directory_prints_nothing(cli_alone: Cli, data: Path) -> None:
    assert cli_alone("storage", "check", str(data)) == Outcome(0, "", "")


def test_a_check_says_that_a_broker_is_using_the_directory(cli_alone: Cli, data: Path) -> None:
    with EmbeddedBroker(data):
        outcome = cli_alone("storage", "check", str(data))
    said = f"a broker is using {data}: results may include files that changed during the check\n"
    assert outcome == Outcome(0, "", said)


def test_a_rebuild_restores_the_format_file_and_says_so(cli_alone: Cli, data: Path) -> None:
    (data / "FORMAT").unlink()
    assert cli_alone("storage", "rebuild", str(data)) == Outcome(0, f"restored {data}/FORMAT\n", "")
    assert cli_alone("storage", "check", str(data)) == Outcome(0, "", "")


def test_a_dump_shows_headers_and_records(cli_alone: Cli, data: Path) -> None:
    outcome = cli_alone("storage", "dump", str(the_ledger(data)))
    lines = outcome.stdout.splitlines()
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert lines[0].startswith(f"{the_ledger(data)} (")
    assert any(" entries " in line and " 2 messages " in line for line in lines)
    assert lines[-1].endswith("sealed")


def test_a_flipped_bit_is_located(cli_alone: Cli, data: Path) -> None:
    ledger = the_ledger(data)
    content = bytearray(ledger.read_bytes())
    content[len(content) // 2] ^= 1
    ledger.write_bytes(content)
    checked = cli_alone("storage", "check", str(data))
    assert (checked.exit_code, checked.stderr) == (1, f"error: {data}: 1 place is damaged\n")
    assert checked.stdout.startswith(f"{ledger} at offset ")
    dumped = cli_alone("storage", "dump", str(ledger))
    assert dumped.exit_code == 1
    assert "\nDAMAGE " in dumped.stdout


def test_a_missing_file_exits_with_3(cli_alone: Cli, data: Path) -> None:
    assert cli_alone("storage", "check", str(data / "nix")) == Outcome(3, "", f"error: cannot find {data}/nix\n")


def test_a_directory_of_another_program_is_refused(cli_alone: Cli, tmp_path: Path) -> None:
    outcome = cli_alone("storage", "check", str(tmp_path))
    assert (outcome.exit_code, "no FORMAT file" in outcome.stdout) == (1, True)


def test_lost_data_counts_until_it_is_accepted(cli_alone: Cli, data: Path) -> None:
    the_ledger(data).unlink()
    outcome = cli_alone("storage", "accept-loss", str(data))
    assert outcome.exit_code == 0
    assert outcome.stdout.endswith("ledger file is missing\n")
    assert cli_alone("storage", "check", str(data)) == Outcome(0, "", "")
    assert cli_alone("storage", "accept-loss", str(data)) == Outcome(0, "", "no damage to accept\n")


def test_the_loss_in_a_directory_in_use_is_accepted_through_its_broker(cli_alone: Cli, data: Path) -> None:
    with EmbeddedBroker(data) as broker:
        refused = cli_alone("storage", "accept-loss", str(data))
        assert refused.exit_code == 8
        assert "pulsarctl brokers accept-loss" in refused.stderr
        cli = Cli(data.parent, broker.http_url, broker.service_url)
        assert cli("brokers", "accept-loss").exit_code == 0


def test_a_lost_catalog_is_refused_and_rebuilt_and_every_message_is_read(cli_alone: Cli, tmp_path: Path) -> None:
    directory = tmp_path / "data"
    with EmbeddedBroker(directory) as broker:
        cli = Cli(tmp_path, broker.http_url, broker.service_url)
        assert cli("namespaces", "create", "public/kept").exit_code == 0
        assert cli("topics", "create-subscription", "public/kept/t", "-s", "s", "-m", "earliest").exit_code == 0
        assert cli("produce", "public/kept/t", "-m", "one", "-m", "two").exit_code == 0
    for file in directory.glob("metadata.sqlite*"):
        file.unlink()
    refused = cli_alone("--embedded", str(directory), "topics", "list", "public/kept")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert f"metadata.sqlite: it is missing; run `pulsarctl storage rebuild {directory}`" in refused.stderr
    rebuilt = cli_alone("storage", "rebuild", str(directory))
    assert (rebuilt.exit_code, rebuilt.stderr) == (0, "")
    assert "from catalog.log" in rebuilt.stdout
    assert "not known" not in rebuilt.stdout
    with EmbeddedBroker(directory) as broker:
        cli = Cli(tmp_path, broker.http_url, broker.service_url)
        consumed = cli("consume", "public/kept/t", "-s", "s", "-n", "2").stdout
    assert re.findall(r"content:(\w+)", consumed) == ["one", "two"]


def test_an_undamaged_catalog_is_not_rebuilt(cli_alone: Cli, data: Path) -> None:
    outcome = cli_alone("storage", "rebuild", str(data))
    assert outcome == Outcome(0, "", f"nothing to rebuild: metadata.sqlite of {data} is intact\n")


def test_an_invalid_stored_policy_is_named(cli_alone: Cli, data: Path) -> None:
    rate = {"publishMaxMessageRate": {"standalone": {"publishThrottlingRateInMsg": 1 << 40}}}
    with EmbeddedBroker(data) as broker:
        broker.call(broker.broker.storage.metadata.put("namespace", "public/default", rate))
    checked = cli_alone("storage", "check", str(data))
    assert (checked.exit_code, checked.stderr) == (1, f"error: {data}: 1 place is damaged\n")
    assert checked.stdout == (
        "stored namespace public/default: publishMaxMessageRate is ignored, set it again: publishThrottlingRateInMsg"
        " must be between -2147483648 and 2147483647, not 1099511627776\n"
    )
