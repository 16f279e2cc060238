"""Whatever a setter of the broker accepts, `export` writes a file that `diff` and `apply` agree with."""

import json
from typing import Any
from urllib.request import Request, urlopen

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from broker_core.testing import EmbeddedBroker
from tests.cli.runner import Cli
from tests.cli.state.conftest import Write
from tests.cli.state.samples import BOTH

NAMESPACE, TOPIC = "setters/all", "persistent://setters/all/one"
PATHS = {"publish-rate": "publishRate", "dispatch-rate": "dispatchRate", "subscribe-rate": "subscribeRate"}
NUMBERS = st.sampled_from([-(2**31), -5, -1, 0, 1, 7, 2**31 - 1])


@pytest.fixture(scope="module", autouse=True)
def place(run: Cli) -> None:
    run("tenants", "create", "setters")
    run("namespaces", "create", NAMESPACE)
    run("topics", "create", TOPIC)


@st.composite
def rates(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    name = draw(st.sampled_from(sorted(PATHS)))
    sample = BOTH[name][0]
    return name, {key: draw(NUMBERS) if type(value) is int else value for key, value in sample.items()}


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@example(("publish-rate", {"publishThrottlingRateInMsg": -5, "publishThrottlingRateInByte": -1}))
@given(rates())
def test_what_a_setter_accepts_is_exported_and_applied_without_a_difference(
    run: Cli, write: Write, pulsar_broker: EmbeddedBroker, sent: tuple[str, dict[str, Any]]
) -> None:
    name, value = sent
    for path in (f"namespaces/{NAMESPACE}", TOPIC.replace("://", "/")):
        post(f"{pulsar_broker.http_url}/admin/v2/{path}/{PATHS[name]}", value)
    exported = run("export", "-n", NAMESPACE)
    assert exported.exit_code == 0, exported.stderr
    file = write(exported.stdout)
    assert run("diff", "-f", file).exit_code == 0
    assert run("apply", "-f", file, "--yes").exit_code == 0


def post(url: str, value: Any) -> None:
    headers = {"Content-Type": "application/json"}
    with urlopen(Request(url, json.dumps(value).encode(), headers, method="POST"), timeout=10):
        pass


def test_what_a_file_cannot_say_is_named_and_the_rest_is_exported(
    run: Cli, write: Write, pulsar_broker: EmbeddedBroker
) -> None:
    run("namespaces", "create", "setters/other")
    url = f"{pulsar_broker.http_url}/admin/v2/namespaces/setters/other"
    post(f"{url}/subscribeRate", {"subscribeThrottlingRatePerConsumer": 3, "ratePeriodInSecond": -9})
    post(f"{url}/publishRate", {"publishThrottlingRateInMsg": 7, "publishThrottlingRateInByte": -1})
    exported = run("export", "-n", "setters/other")
    told = "warning: the file leaves out namespaces.setters/other.policies.subscribe-rate.ratePeriodInSecond: "
    assert exported.exit_code == 0 and told in exported.stderr
    assert "publishThrottlingRateInMsg: 7" in exported.stdout and "subscribe-rate" not in exported.stdout
    assert run("diff", "-f", write(exported.stdout)).exit_code == 0
