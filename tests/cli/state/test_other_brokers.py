"""Brokers that answer differently: Apache Pulsar's requests, and those that a client may not send."""

from collections.abc import Callable
from pathlib import Path

from tests.cli.state.conftest import Write
from tests.support.http_stub import HttpStub, Reply, Request
from tests.support.runner import Cli, Outcome

TOPIC = "/admin/v2/persistent/shop/a/t"
STATE = "namespaces: {shop/a: {}}\ntopics: {shop/a/t: {policies: {max-producers: 3, max-consumers: 4}}}"
ANSWERS = {
    "/admin/v2/brokers/configuration/runtime": Reply(403),
    "/admin/v2/clusters": Reply(body=["own"]),
    "/admin/v2/tenants/shop": Reply(403, {"reason": "Need to be super user"}),
    "/admin/v2/namespaces/shop/a": Reply(body={"bundles": {"numBundles": 4}}),
    "/admin/v2/persistent/shop/a": Reply(body=["persistent://shop/a/t"]),
    "/admin/v2/persistent/shop/a/partitioned": Reply(body=[]),
    "/admin/v2/non-persistent/shop/a": Reply(body=[]),
    "/admin/v2/non-persistent/shop/a/partitioned": Reply(body=[]),
    f"{TOPIC}/policies": Reply(405),
    f"{TOPIC}/maxProducers": Reply(body=3),
    f"{TOPIC}/maxConsumers": Reply(204),
}


def diff(tmp_path: Path, write: Write, answer: Callable[[Request], Reply]) -> tuple[Outcome, list[str]]:
    with HttpStub(answer) as stub:
        done = Cli(tmp_path, stub.url)("diff", "-f", write(STATE))
        return done, [request.path for request in stub.requests]


def test_a_client_that_may_not_read_tenants_works_in_its_namespaces(tmp_path: Path, write: Write) -> None:
    done, _ = diff(tmp_path, write, lambda request: ANSWERS.get(request.path, Reply(404)))
    assert done.exit_code == 13, done.stderr
    assert "      + policies.max-consumers  4" in done.stdout.splitlines()


def test_only_the_policies_in_the_files_are_read_from_a_broker_that_has_no_request_for_all(
    tmp_path: Path, write: Write
) -> None:
    _, paths = diff(tmp_path, write, lambda request: ANSWERS.get(request.path, Reply(404)))
    assert [path for path in paths if path.startswith(TOPIC)] == [
        f"{TOPIC}/policies",
        f"{TOPIC}/maxProducers",
        f"{TOPIC}/maxConsumers",
    ]


def test_a_topic_is_there_although_the_broker_does_not_have_one_of_its_policies(tmp_path: Path, write: Write) -> None:
    page = Reply(404, "<html><title>Error 404 Not Found</title></html>")
    answers = ANSWERS | {f"{TOPIC}/maxConsumers": page}
    done, _ = diff(tmp_path, write, lambda request: answers.get(request.path, Reply(404)))
    assert done.stdout.splitlines() == [
        "  ~ topic persistent://shop/a/t",
        "      + policies.max-consumers  4",
        "Plan: 0 to create, 1 to change, 0 to delete.",
    ]


def test_a_topic_that_is_deleted_while_it_is_read_is_absent(tmp_path: Path, write: Write) -> None:
    answers = ANSWERS | {f"{TOPIC}/maxConsumers": Reply(404, {"reason": "Topic not found"})}
    done, _ = diff(tmp_path, write, lambda request: answers.get(request.path, Reply(404)))
    assert "  + topic persistent://shop/a/t" in done.stdout.splitlines()


def test_rates_are_found_even_if_the_broker_does_not_say_the_name_of_its_cluster(tmp_path: Path, write: Write) -> None:
    rate = {"publishThrottlingRateInMsg": 5, "publishThrottlingRateInByte": -1}
    answers = ANSWERS | {
        "/admin/v2/clusters": Reply(body=["one", "two"]),
        "/admin/v2/namespaces/shop/a": Reply(body={"publishMaxMessageRate": {"two": rate}}),
    }
    file = write({"namespaces": {"shop/a": {"policies": {"publish-rate": rate}}}})
    with HttpStub(lambda request: answers.get(request.path, Reply(404))) as stub:
        assert Cli(tmp_path, stub.url)("diff", "-f", file).exit_code == 0


def test_an_error_while_reading_ends_the_command_before_anything_is_changed(tmp_path: Path, write: Write) -> None:
    answers = ANSWERS | {"/admin/v2/namespaces/shop/a": Reply(500, {"reason": "out of order"})}
    with HttpStub(lambda request: answers.get(request.path, Reply(404))) as stub:
        done = Cli(tmp_path, stub.url)("apply", "-f", write(STATE))
        methods = {request.method for request in stub.requests}
    assert (done.exit_code, methods) == (1, {"GET"})
    assert "out of order" in done.stderr
