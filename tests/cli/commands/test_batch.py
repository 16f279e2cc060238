"""`pulsarctl batch`: many commands in one process."""

import json
from pathlib import Path

import pytest

from tests.support.http_stub import HttpStub, Reply, Request
from tests.support.program import run
from tests.support.runner import Cli


def answer(request: Request) -> Reply:
    if "absent" in request.path:
        return Reply(404, {"reason": "Tenant does not exist"})
    return Reply(body=["public"] if request.path.endswith("/tenants") else {})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "commands.txt"


def test_each_line_runs_with_quotes_comments_and_the_name_of_the_program(cli_alone: Cli, file: Path) -> None:
    file.write_text(
        "# a comment\n"
        "\n"
        "tenants list\n"
        "  pulsarctl tenants create 'a b' -r \"x,y\" # and why\n"
        "topics update-properties t -p note='it is \"quoted\"'\n"
    )
    with HttpStub(answer) as stub:
        outcome = cli_alone("batch", str(file), "--admin-url", stub.url)
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (0, "public\n", "")
    assert [(one.method, one.path) for one in stub.requests] == [
        ("GET", "/admin/v2/tenants"),
        ("GET", "/admin/v2/clusters"),
        ("PUT", "/admin/v2/tenants/a%20b"),
        ("PUT", "/admin/v2/persistent/public/default/t/properties"),
    ]
    assert json.loads(stub.requests[-1].body) == {"note": 'it is "quoted"'}


def test_all_lines_share_one_connection(cli_alone: Cli, file: Path) -> None:
    file.write_text("tenants list\n" * 20)
    with HttpStub(answer) as stub:
        assert cli_alone("batch", str(file), "--admin-url", stub.url).exit_code == 0
    assert (len(stub.requests), stub.connections) == (20, 1)


def test_a_connection_that_the_broker_closed_is_opened_again(cli_alone: Cli, file: Path) -> None:
    file.write_text("tenants list\n" * 3)
    with HttpStub(lambda request: Reply(body=["public"], headers={"Connection": "close"})) as stub:
        outcome = cli_alone("batch", str(file), "--admin-url", stub.url)
    assert (outcome.exit_code, outcome.stdout) == (0, "public\n" * 3)


def test_the_first_failure_ends_it_with_its_exit_code_and_names_the_line(cli_alone: Cli, file: Path) -> None:
    file.write_text("tenants list\n\ntenants get absent\ntenants list\n")
    with HttpStub(answer) as stub:
        outcome = cli_alone("batch", str(file), "--admin-url", stub.url)
    assert (outcome.exit_code, outcome.stdout) == (3, "public\n")
    assert f"error: {file}:3 failed with exit code 3: tenants get absent\n" in outcome.stderr
    assert "Tenant does not exist" in outcome.stderr


def test_keep_going_runs_the_other_lines_and_counts_the_failures(cli_alone: Cli, file: Path) -> None:
    file.write_text("tenants get absent\ntenants list\nno-such-noun\ntenants 'open\ntenants list\n")
    with HttpStub(answer) as stub:
        outcome = cli_alone("batch", str(file), "--keep-going", "--admin-url", stub.url)
    assert (outcome.exit_code, outcome.stdout) == (10, "public\npublic\n")
    assert f"error: {file}:4: cannot split the line: no closing quotation" in outcome.stderr
    assert "error: 3 of 5 lines failed: 1, 3, 4" in outcome.stderr


def test_options_of_batch_apply_to_each_line_which_may_override_them(cli_alone: Cli, file: Path) -> None:
    file.write_text("tenants list\ntenants list -o name\n")
    with HttpStub(answer) as stub:
        outcome = cli_alone("batch", str(file), "--admin-url", stub.url, "-o", "jsonl")
    assert outcome.stdout == '{"tenant":"public"}\npublic\n'


def test_lines_come_from_stdin(cli_alone: Cli) -> None:
    with HttpStub(answer) as stub:
        outcome = cli_alone("batch", "-", "--admin-url", stub.url, stdin="tenants list\ntenants get absent\n")
    assert (outcome.exit_code, outcome.stdout) == (3, "public\n")
    assert "error: stdin:2 failed" in outcome.stderr


@pytest.mark.parametrize("line", ["batch other.txt", "shell"])
def test_a_session_inside_of_a_session_is_refused(cli_alone: Cli, file: Path, line: str) -> None:
    file.write_text(line)
    outcome = cli_alone("batch", str(file))
    assert outcome.exit_code == 2
    assert "inside another session" in outcome.stderr


def test_a_secret_is_not_repeated_in_the_error(cli_alone: Cli, file: Path) -> None:
    file.write_text("namespaces set-offload-policies absent/x --aws-secret hunter2-hunter2 --token=abcdef-abcdef\n")
    with HttpStub(answer) as stub:
        outcome = cli_alone("batch", str(file), "--admin-url", stub.url)
    assert outcome.exit_code != 0
    assert "failed with exit code" in outcome.stderr
    assert "hunter2" not in outcome.stderr
    assert "abcdef" not in outcome.stderr


@pytest.mark.parametrize(
    "line",
    [
        "tokens create -sk hunter2-hunter2 --nosuch",
        "tokens create -sk data:;base64,hunter2-hunter2 --nosuch 'open",
        "consume x -s y -ekv hunter2-hunter2 --nosuch",
        "consume x -s y --encryption-key-value hunter2-hunter2 --nosuch",
        "consume x -s y -ekv data:application/x-pem-file;base64,hunter2hunter2 --nosuch",
        "topics set-offload-policies x -s hunter2-hunter2 --nosuch",
        "topics set-offload-policies x -shunter2-hunter2 --nosuch",
        "tokens create -skhunter2-hunter2 --nosuch",
        "clusters create x --url http://admin:hunter2-hunter2@host --nosuch",
    ],
)
def test_a_secret_of_a_short_option_or_in_the_form_of_one_is_not_repeated(
    cli_alone: Cli, file: Path, line: str
) -> None:
    file.write_text(line)
    outcome = cli_alone("batch", str(file))
    assert f"failed with exit code 2: {' '.join(line.split()[:2])} " in outcome.stderr
    assert "hunter2" not in outcome.stderr


def test_an_option_that_carries_no_secret_in_this_command_is_repeated(cli_alone: Cli, file: Path) -> None:
    file.write_text("consume orders -s billing --nosuch")
    assert "exit code 2: consume orders -s billing --nosuch\n" in cli_alone("batch", str(file)).stderr


def test_a_number_sign_inside_of_a_word_belongs_to_it(cli_alone: Cli, file: Path) -> None:
    file.write_text("topics delete public/tmp/orders#old\n")
    with HttpStub(answer) as stub:
        assert cli_alone("batch", str(file), "--admin-url", stub.url).exit_code == 0
    deleted = [one.path for one in stub.requests if one.method == "DELETE"]
    assert deleted == ["/admin/v2/persistent/public/tmp/orders%23old?force=false"]


def test_a_context_that_a_line_selects_counts_for_the_next_line(cli_alone: Cli, file: Path) -> None:
    with HttpStub(answer) as stub:
        file.write_text(f"context create prod --admin-url {stub.url}\ntenants list\n")
        outcome = cli_alone("batch", str(file))
    assert outcome.stdout == "public\n"


def test_a_file_that_cannot_be_read(cli_alone: Cli, tmp_path: Path) -> None:
    outcome = cli_alone("batch", str(tmp_path / "absent"))
    assert outcome.exit_code == 2
    assert "cannot read" in outcome.stderr


def test_an_embedded_broker_runs_for_all_lines(tmp_path: Path) -> None:
    """With messages, which the official client brings to stdout."""
    lines = b"topics create-subscription t -s s\nproduce t -m one\nconsume t -s s -F '%v\\n'\ntenants list -o name\n"
    done = run(tmp_path, "--embedded", str(tmp_path / "data"), "batch", "-", stdin=lines)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.decode().split() == ["one", "public", "pulsar"]
