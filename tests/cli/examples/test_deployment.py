"""The unit, the image, and the dashboards: every command, path, port, and metric in them exists.

No container runs here. Docker's, Prometheus's, and Grafana's files are parsed and compared with each other and with us.
"""

import configparser
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pulsar
import pytest
import yaml

from broker_core.testing import EmbeddedBroker
from pulsarctl.settings.settings import environment_variable
from tests.cli.parsed import parse

ROOT = Path(__file__).parents[3]
UNIT = ROOT / "examples" / "systemd" / "pulsarctl.service"
MONITORING = ROOT / "examples" / "monitoring"
KUBERNETES = ROOT / "examples" / "kubernetes"
CONTAINERFILE = ROOT / "image" / "Containerfile"
MAINTENANCE = ROOT / "examples" / "maintenance"
PROGRAM = Path(sys.executable).parent / "pulsarctl"


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def instructions() -> Iterator[tuple[str, str]]:
    for line in CONTAINERFILE.read_text().replace("\\\n", " ").splitlines():
        if line and not line.startswith("#"):
            yield tuple(line.split(maxsplit=1))  # type: ignore[misc]  # instruction and arguments


def exec_form(instruction: str) -> list[str]:
    [arguments] = [text for name, text in instructions() if name == instruction]
    return list(json.loads(arguments[arguments.index("[") :]))


def unit(path: Path = UNIT) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # the documented way to keep the case of keys
    parser.read_string(path.read_text())
    return parser


def test_the_unit_runs_a_command_of_ours_in_the_directory_that_systemd_creates() -> None:
    service = unit()["Service"]
    program, *words = shlex.split(service["ExecStart"])
    assert Path(program).name == "pulsarctl"
    parse(words)
    assert words[words.index("--data-dir") + 1] == f"/var/lib/{service['StateDirectory']}"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/opt/pulsarctl/bin/pulsarctl", str(PROGRAM)))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(copy)], capture_output=True, text=True, timeout=60
    )
    ours = [line for line in done.stderr.splitlines() if UNIT.name in line]
    assert (ours, done.returncode) == ([], 0), done.stderr


def test_the_image_copies_what_the_build_needs_and_nothing_that_is_missing() -> None:
    sources = {word for name, text in instructions() if name == "COPY" for word in text.split()[:-1]}
    copied = sources - {"--from=wheels", "/install", "image/pulsar"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    needed = {"pyproject.toml", project["project"]["readme"], *project["project"]["license-files"]}
    assert copied == needed | {name.split("/")[0] for name in packages}
    assert all((ROOT / name).exists() for name in copied)


def test_the_commands_of_the_image_are_ours() -> None:
    program, *words = exec_form("CMD")
    assert program == "bin/pulsar"
    parse(words)
    program, *check = exec_form("HEALTHCHECK")
    assert program == "pulsarctl"
    parse(check)


def test_the_image_keeps_its_data_in_its_volume() -> None:
    volume = dict(instructions())["VOLUME"]
    assert f"PULSARCTL_DATA_DIR={volume} " in dict(instructions())["ENV"]
    assert read(MONITORING / "compose.yaml")["services"]["broker"]["volumes"] == [f"data:{volume}"]


def manifests() -> list[dict[str, Any]]:
    return [document for file in sorted(KUBERNETES.iterdir()) for document in yaml.safe_load_all(file.read_text())]


# The Prometheus operator has a schema of its own.
OF_KUBERNETES = [each for each in manifests() if each["kind"] != "ServiceMonitor"]


@pytest.mark.parametrize(
    "manifest", [*OF_KUBERNETES, read(MAINTENANCE / "cronjob.yaml")], ids=lambda each: each["kind"]
)
def test_kubernetes_accepts_the_manifest(manifest: dict[str, Any]) -> None:
    kubernetes_validate.validate(manifest, "1.31", strict=True)


def test_the_stateful_set_runs_a_command_of_ours_as_the_user_of_the_image() -> None:
    [pods] = [each["spec"]["template"]["spec"] for each in manifests() if each["kind"] == "StatefulSet"]
    [container] = pods["containers"]
    assert container["command"] == ["pulsarctl"]
    parse(container["args"])
    assert pods["securityContext"]["runAsUser"] == int(dict(instructions())["USER"])
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounts == {dict(instructions())["VOLUME"], "/tmp"}


def test_the_services_and_monitors_select_the_pods_and_ports_of_the_stateful_set() -> None:
    by_kind = {each["kind"]: each["spec"] for each in manifests()}
    [container] = by_kind["StatefulSet"]["template"]["spec"]["containers"]
    opened = {port["name"] for port in container["ports"]}
    labels = by_kind["StatefulSet"]["template"]["metadata"]["labels"]
    assert by_kind["Service"]["selector"] == labels
    assert {by_kind[kind]["selector"]["matchLabels"]["app"] for kind in ("PodDisruptionBudget", "ServiceMonitor")} == {
        "pulsar"
    }
    assert {port["targetPort"] for port in by_kind["Service"]["ports"]} == opened
    assert {endpoint["port"] for endpoint in by_kind["ServiceMonitor"]["endpoints"]} <= opened


def test_compose_builds_and_mounts_what_exists_and_opens_ports_on_this_machine_only() -> None:
    compose = read(MONITORING / "compose.yaml")
    build = compose["services"]["broker"]["build"]
    assert (MONITORING / build["context"]).resolve() == ROOT
    assert (ROOT / build["dockerfile"]).exists()
    for service in compose["services"].values():
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])
        sources = [volume.split(":")[0] for volume in service.get("volumes", [])]
        assert [name for name in sources if name not in compose["volumes"] and not (MONITORING / name).exists()] == []


def test_prometheus_and_grafana_reach_services_of_the_compose_file_at_ports_that_they_open() -> None:
    ports = {
        f"{name}:{port.rsplit(':', 1)[1]}"
        for name, service in read(MONITORING / "compose.yaml")["services"].items()
        for port in service["ports"]
    }
    [job] = read(MONITORING / "prometheus.yaml")["scrape_configs"]
    [source] = read(MONITORING / "grafana/datasources/prometheus.yaml")["datasources"]
    assert {*job["static_configs"][0]["targets"], source["url"].removeprefix("http://")} <= ports


def test_grafana_finds_the_dashboard_and_its_source() -> None:
    mounts = read(MONITORING / "compose.yaml")["services"]["grafana"]["volumes"]
    [provider] = read(MONITORING / "grafana/dashboards/provider.yaml")["providers"]
    assert f"./grafana/dashboards:{provider['options']['path']}:ro" in mounts
    [source] = read(MONITORING / "grafana/datasources/prometheus.yaml")["datasources"]
    panels = json.loads((MONITORING / "grafana/dashboards/broker.json").read_text())["panels"]
    assert {panel["datasource"]["uid"] for panel in panels} == {source["uid"]}


@pytest.fixture(scope="module")
def served() -> set[str]:
    """The metrics of a broker with a topic, a subscription, and a message."""
    with EmbeddedBroker() as broker:
        client = pulsar.Client(broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
        client.subscribe("measured", "s")
        client.create_producer("measured").send(b"x")
        [job] = read(MONITORING / "prometheus.yaml")["scrape_configs"]
        with urllib.request.urlopen(broker.http_url + job["metrics_path"], timeout=30) as answer:
            text = answer.read().decode()
        client.close()
    return set(re.findall(r"^([a-z_0-9]+)[{ ]", text, re.MULTILINE))


def metrics_in(expressions: Iterable[str]) -> set[str]:
    return {name for text in expressions for name in re.findall(r"\b(?:pulsar|pulsarctl|process)_\w+", text)}


def test_the_broker_serves_every_metric_of_the_dashboard(served: set[str]) -> None:
    panels = json.loads((MONITORING / "grafana/dashboards/broker.json").read_text())["panels"]
    asked = [metrics_in(target["expr"] for target in panel["targets"]) for panel in panels]
    assert all(asked)
    assert set().union(*asked) <= served


def test_panels_have_their_own_place_and_number() -> None:
    panels = json.loads((MONITORING / "grafana/dashboards/broker.json").read_text())["panels"]
    assert len({(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}) == len(panels)
    assert len({panel["id"] for panel in panels}) == len(panels)


def alerts() -> list[dict[str, Any]]:
    return [rule for group in read(MONITORING / "rules.yaml")["groups"] for rule in group["rules"]]


def test_the_broker_serves_every_metric_of_the_alerts(served: set[str]) -> None:
    assert metrics_in(rule["expr"] for rule in alerts()) <= served
    assert all(metrics_in([rule["expr"]]) for rule in alerts() if rule["alert"] != "BrokerDown")


def test_prometheus_reads_the_rules_where_compose_mounts_them() -> None:
    [name] = read(MONITORING / "prometheus.yaml")["rule_files"]
    mounts = read(MONITORING / "compose.yaml")["services"]["prometheus"]["volumes"]
    assert f"./rules.yaml:/etc/prometheus/{name}:ro" in mounts


def test_each_alert_names_a_command_of_ours_or_what_to_look_at() -> None:
    assert len({rule["alert"] for rule in alerts()}) == len(alerts())
    for rule in alerts():
        assert set(rule["annotations"]) == {"summary", "action"}
        if rule["annotations"]["action"].startswith("pulsarctl explain"):
            words = re.sub(r"\{\{.*?\}\}", "name", rule["annotations"]["action"]).split()
            parse(words[1:])


def test_the_crontab_runs_commands_of_ours_and_nothing_asks_a_question() -> None:
    lines = (MAINTENANCE / "crontab").read_text().splitlines()
    jobs = [line for line in lines if re.match(r"[*\d]", line)]
    assert len(jobs) == 3
    for job in jobs:
        *when, command = job.split(maxsplit=5)
        program, *words = shlex.split(command)
        assert (len(when), program) == (5, "pulsarctl")
        parse(words)
        assert {"--wait", "--yes", "--force"} & set(words)


def test_the_timer_starts_the_service_that_runs_a_command_of_ours() -> None:
    service, timer = (unit(MAINTENANCE / f"compact.{kind}") for kind in ("service", "timer"))
    parse(shlex.split(service["Service"]["ExecStart"])[1:])
    assert (service["Service"]["Type"], timer["Install"]["WantedBy"]) == ("oneshot", "timers.target")


def test_the_cron_job_runs_a_command_of_ours_once_at_a_time() -> None:
    job = read(MAINTENANCE / "cronjob.yaml")
    [container] = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    parse(container["args"])
    assert (job["kind"], job["spec"]["concurrencyPolicy"]) == ("CronJob", "Forbid")
    names = {variable["name"] for variable in container["env"]}
    assert names == {environment_variable("web_url"), environment_variable("token_file")}
