"""Functions, connectors, and packages: the requests that a cluster with these services gets, and the reason of ours."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.http_stub import HttpStub, Reply, Request
from tests.support.runner import Cli

FUNCTION = "/admin/v3/functions/public/default/f"
PACKAGE = "/admin/v3/packages/function/public/default/copy"
LINES = (
    ("functions get --fqfn public/default/f", "GET", FUNCTION),
    ("functions list", "GET", "/admin/v3/functions/public/default"),
    ("functions delete --name f --yes", "DELETE", FUNCTION),
    ("functions status --name f", "GET", f"{FUNCTION}/status"),
    ("functions getstatus --name f --instance-id 2", "GET", f"{FUNCTION}/2/status"),
    ("functions stats --name f", "GET", f"{FUNCTION}/stats"),
    ("functions start --name f", "POST", f"{FUNCTION}/start"),
    ("functions stop --name f --instance-id 0", "POST", f"{FUNCTION}/0/stop"),
    ("functions restart --name f", "POST", f"{FUNCTION}/restart"),
    ("functions querystate --name f -k a", "GET", f"{FUNCTION}/state/a"),
    ('functions putstate --name f -s {"key":"a"}', "POST", f"{FUNCTION}/state/a"),
    ("functions trigger --name f --trigger-value x", "POST", f"{FUNCTION}/trigger"),
    ("functions upload --source-file FILE --path p", "POST", "/admin/v3/functions/upload"),
    ("functions download --name f --destination-file OUT", "GET", f"{FUNCTION}/download?transform-function=false"),
    ("functions available-functions", "GET", "/admin/v3/functions/builtins"),
    ("functions reload", "POST", "/admin/v3/functions/builtins/reload"),
    ("functions create --name f --jar FILE", "POST", FUNCTION),
    ("functions update --name f --parallelism 2", "PUT", FUNCTION),
    ("functions-worker function-stats", "GET", "/admin/v2/worker-stats/functionsmetrics"),
    ("functions-worker monitoring-metrics", "GET", "/admin/v2/worker-stats/metrics"),
    ("functions-worker get-cluster", "GET", "/admin/v2/worker/cluster"),
    ("functions-worker get-cluster-leader", "GET", "/admin/v2/worker/cluster/leader"),
    ("functions-worker get-function-assignments", "GET", "/admin/v2/worker/assignments"),
    ("functions-worker rebalance", "PUT", "/admin/v2/worker/rebalance"),
    ("packages get-metadata function://public/default/copy@1", "GET", f"{PACKAGE}/1/metadata"),
    ("packages update-metadata function://public/default/copy@1 -d d", "PUT", f"{PACKAGE}/1/metadata"),
    ("packages upload function://public/default/copy@1 --description d --path FILE", "POST", f"{PACKAGE}/1"),
    ("packages download function://public/default/copy@1 --path OUT", "GET", f"{PACKAGE}/1"),
    ("packages delete function://public/default/copy@1 --yes", "DELETE", f"{PACKAGE}/1"),
    ("packages list-versions function://public/default/copy", "GET", PACKAGE),
    ("packages list public/default --type function", "GET", "/admin/v3/packages/function/public/default"),
    *(
        line
        for kind in ("source", "sink")
        for root in (f"/admin/v3/{kind}s",)
        for line in (
            (f"{kind}s create --name c --archive FILE", "POST", f"{root}/public/default/c"),
            (f"{kind}s update --name c --parallelism 2", "PUT", f"{root}/public/default/c"),
            (f"{kind}s get --name c", "GET", f"{root}/public/default/c"),
            (f"{kind}s delete --name c --yes", "DELETE", f"{root}/public/default/c"),
            (f"{kind}s list --tenant t --namespace n", "GET", f"{root}/t/n"),
            (f"{kind}s status --name c", "GET", f"{root}/public/default/c/status"),
            (f"{kind}s start --name c", "POST", f"{root}/public/default/c/start"),
            (f"{kind}s stop --name c", "POST", f"{root}/public/default/c/stop"),
            (f"{kind}s restart --name c --instance-id 1", "POST", f"{root}/public/default/c/1/restart"),
            (f"{kind}s available-{kind}s", "GET", f"{root}/builtin{kind}s"),
            (f"{kind}s reload", "POST", f"{root}/reloadBuiltIn{kind.capitalize()}s"),
        )
    ),
)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "copy.jar").write_text("program")
    return {"FILE": str(tmp_path / "copy.jar"), "OUT": str(tmp_path / "out")}


def typed(line: str, files: dict[str, str]) -> list[str]:
    return [files.get(word, word) for word in line.split()]


def test_the_request_is_that_of_pulsar_admin(cli_alone: Cli, files: dict[str, str]) -> None:
    for line, method, path in LINES:
        with HttpStub(lambda request: Reply(body=[])) as cluster:
            outcome = cli_alone(*typed(line, files), "--admin-url", cluster.url)
        sent = [(one.method, one.path) for one in cluster.requests]
        assert (outcome.exit_code, sent) == (0, [(method, path)]), (line, outcome)


def test_our_broker_gives_the_reason(cli: Cli, files: dict[str, str]) -> None:
    reason = r"error: this broker does not (run functions|run connectors|store packages): .* \(501 for"
    for line, _, _ in LINES:
        outcome = cli(*typed(line, files))
        assert outcome.exit_code == 1, line
        assert re.search(reason, outcome.stderr), line


def parts(request: Request) -> dict[str, str]:
    """The parts of a form by name."""
    return dict(re.findall(r'form-data; name="(\w+)".*?\r\n\r\n(.*?)\r\n--', request.body, re.DOTALL))


def deployed(cli: Cli, *words: str) -> dict[str, Any]:
    with HttpStub(lambda request: Reply(status=204)) as cluster:
        outcome = cli(*words, "--admin-url", cluster.url)
    assert outcome.exit_code == 0, outcome
    return parts(cluster.requests[0])


def test_a_function_is_sent_with_its_program_and_configuration(
    cli_alone: Cli, files: dict[str, str], tmp_path: Path
) -> None:
    config = tmp_path / "f.yaml"
    config.write_text("parallelism: 3\nlogTopic: log\n")
    words = ("--function-config-file", str(config), "--parallelism", "2", "-i", "a,b", "--cpu", "0.5")
    user = ("--user-config", '{"k": [1]}')
    sent = deployed(cli_alone, "functions", "create", "--name", "f", "--jar", files["FILE"], *words, *user)
    assert sent["data"] == "program"
    assert json.loads(sent["functionConfig"]) == {
        "tenant": "public",
        "namespace": "default",
        "name": "f",
        "parallelism": 2,
        "logTopic": "log",
        "inputs": ["a", "b"],
        "resources": {"cpu": 0.5},
        "userConfig": {"k": [1]},
    }


def test_a_program_elsewhere_is_sent_by_its_url(cli_alone: Cli) -> None:
    assert deployed(cli_alone, "functions", "create", "--name", "f", "--py", "http://h/f.py")["url"] == "http://h/f.py"
    assert deployed(cli_alone, "sinks", "create", "--name", "s", "-t", "jdbc")["url"] == "builtin://jdbc"


def test_a_download_is_written_to_the_file(cli_alone: Cli, files: dict[str, str]) -> None:
    with HttpStub(lambda request: Reply(body="program")) as cluster:
        words = ("functions", "download", "--path", "p", "--destination-file", files["OUT"])
        assert cli_alone(*words, "--admin-url", cluster.url).exit_code == 0
    assert Path(files["OUT"]).read_text() == "program"
    assert cluster.requests[0].path == "/admin/v3/functions/download?path=p&transform-function=false"


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("functions get", "no name given"),
        ("functions get --fqfn a/b", "'a/b' is not TENANT/NAMESPACE/NAME"),
        ("functions create --name f", "no program given"),
        ("functions create --name f --py http://h/f --user-config {", "userConfig is not JSON"),
        ("functions putstate --name f -s 1", "the state is not a JSON object with a key"),
        ("functions trigger --name f", "no value given"),
        ("packages delete copy", "'copy' is not a package"),
    ],
)
def test_bad_input_is_refused_before_a_request(cli_alone: Cli, line: str, error: str) -> None:
    outcome = cli_alone(*line.split())
    assert (outcome.exit_code, outcome.stderr.startswith(f"error: {error}")) == (2, True), outcome
