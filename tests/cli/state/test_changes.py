"""Changes of each kind: what the plan says, and what the broker has afterwards."""

import json
from typing import Any

import pytest
import yaml

from broker_core.testing import EmbeddedBroker
from tests.cli.state.conftest import Write
from tests.support.runner import Cli, Outcome

ORDERS = "persistent://shop/sales/orders"
SCHEMA = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}


@pytest.fixture(autouse=True)
def empty(run: Cli, write: Write) -> None:
    """Without the tenant `shop` and the cluster `west`."""
    apply(run, write, {"scope": ["shop"]}, "--prune", "--yes")
    run("clusters", "delete", "west")


def apply(run: Cli, write: Write, document: dict[str, Any], *words: str) -> Outcome:
    return run("apply", "-f", write(document), *words)


def test_a_tenant_a_namespace_and_a_topic_are_created_from_the_outside_in(run: Cli, write: Write) -> None:
    document = {"topics": {ORDERS: {"partitions": 3}}, "namespaces": {"shop/sales": {}}, "tenants": {"shop": {}}}
    done = apply(run, write, document)
    assert done.stdout.splitlines() == [
        "  + tenant shop",
        "  + namespace shop/sales",
        f"  + topic {ORDERS}",
        "      + partitions  3",
        "Plan: 3 to create, 0 to change, 0 to delete.",
    ]
    assert (done.exit_code, done.stderr) == (0, "applied 3 changes\n")
    assert json.loads(run("topics", "get-partitioned-topic-metadata", ORDERS, "-o", "json").stdout)["partitions"] == 3


def test_a_second_apply_changes_nothing(run: Cli, write: Write) -> None:
    document = {"tenants": {"shop": {"adminRoles": ["boss"]}}, "namespaces": {"shop/sales": None}}
    apply(run, write, document)
    again = apply(run, write, document)
    assert again.stdout == "No changes. The broker has what the files describe.\n"
    assert (again.exit_code, again.stderr) == (0, "")


def test_only_what_differs_is_sent(run: Cli, write: Write) -> None:
    policies = {"message-ttl": "1h", "max-producers-per-topic": 5}
    document: dict[str, Any] = {"tenants": {"shop": {}}, "namespaces": {"shop/sales": {"policies": policies}}}
    apply(run, write, document)
    policies["message-ttl"] = "2h"
    done = apply(run, write, document, "-v")
    sent = [line for line in done.stderr.splitlines() if line.startswith(("PUT", "POST", "DELETE"))]
    assert [line.split()[0] + line.split()[1].rpartition("/")[2] for line in sent] == ["POSTmessageTTL"]
    assert "      ~ policies.message-ttl  1h -> 2h" in done.stdout.splitlines()


def test_partitions_grow(run: Cli, write: Write) -> None:
    document: dict[str, Any] = {"tenants": {"shop": {}}, "namespaces": {"shop/sales": {}}}
    apply(run, write, document | {"topics": {ORDERS: {"partitions": 2}}})
    done = apply(run, write, document | {"topics": {ORDERS: {"partitions": 5}}})
    assert "      ~ partitions  2 -> 5" in done.stdout.splitlines()
    assert apply(run, write, document | {"topics": {ORDERS: {"partitions": 5}}}).stdout.startswith("No changes")


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (4, 2, "has 4 partitions, and cannot have only 2: Pulsar cannot remove partitions"),
        (4, 0, "has 4 partitions, and cannot be a topic without: delete it first, with its messages"),
        (0, 4, "has no partitions, and cannot get 4: delete it first, with its messages"),
    ],
)
def test_what_pulsar_cannot_do_is_refused_before_anything_is_sent(
    run: Cli, write: Write, before: int, after: int, reason: str
) -> None:
    document: dict[str, Any] = {"tenants": {"shop": {}}, "namespaces": {"shop/sales": {}}}
    apply(run, write, document | {"topics": {ORDERS: {"partitions": before}}})
    other: dict[str, Any] = {"shop/other": {}}
    changed = {"tenants": {"shop": {}}, "namespaces": other, "topics": {ORDERS: {"partitions": after}}}
    done = apply(run, write, changed)
    assert done.exit_code == 6
    assert f"  ! topic {ORDERS} {reason}" in done.stdout.splitlines()
    assert "shop/other" not in run("namespaces", "list", "shop").stdout


def test_a_topic_without_a_namespace_is_refused_before_anything_is_sent(run: Cli, write: Write) -> None:
    done = apply(run, write, {"tenants": {"shop": {}}, "topics": {ORDERS: {}}})
    assert done.exit_code == 6
    assert "namespace shop/sales does not exist: add it under 'namespaces'" in done.stderr
    assert "shop" not in run("tenants", "list").stdout.split()


def test_a_schema_and_subscriptions_are_created(run: Cli, write: Write) -> None:
    topic = {
        "schema": {"type": "avro", "schema": SCHEMA},
        "subscriptions": {"audit": None, "billing": {"position": "earliest", "properties": {"team": "a"}}},
    }
    document = {"tenants": {"shop": {}}, "namespaces": {"shop/sales": {}}, "topics": {ORDERS: topic}}
    assert apply(run, write, document).exit_code == 0
    exported = yaml.safe_load(run("export", "-n", "shop").stdout)["topics"][ORDERS]
    assert exported["schema"] == {"type": "AVRO", "schema": SCHEMA}
    assert exported["subscriptions"] == {"audit": {}, "billing": {"properties": {"team": "a"}}}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "avro", "schema": json.dumps(SCHEMA, indent=2)},
        {"type": "json", "schema": '"int"'},
        {"type": "json", "schema": '{"type":"array","items":' * 199 + '"int"' + "}" * 199},
        {"type": "bytes"},
    ],
    ids=["text", "primitive", "deep", "bytes"],
)
def test_a_schema_in_another_form_is_the_same(run: Cli, write: Write, schema: dict[str, Any]) -> None:
    def document(**topic: Any) -> dict[str, Any]:
        return {"tenants": {"shop": {}}, "namespaces": {"shop/sales": {}}, "topics": {ORDERS: topic}}

    apply(run, write, document(schema=schema))
    assert run("diff", "-f", write(document(schema=schema))).exit_code == 0
    exported = run("export", "-n", "shop").stdout
    apply(run, write, {"scope": ["shop"]}, "--prune", "--yes")
    assert run("apply", "-f", write(exported)).exit_code == 0
    assert run("export", "-n", "shop").stdout == exported


def test_a_cluster_is_created_and_changed(run: Cli, write: Write) -> None:
    apply(run, write, {"clusters": {"west": {"serviceUrl": "http://west:8080"}}})
    changed = {"serviceUrl": "http://west:8081", "authenticationParameters": "token:secret"}
    done = apply(run, write, {"clusters": {"west": changed}})
    assert done.stdout.splitlines()[:3] == [
        "  ~ cluster west",
        "      ~ serviceUrl                http://west:8080 -> http://west:8081",
        "      + authenticationParameters  (sensitive)",
    ]
    exported = yaml.safe_load(run("export").stdout)
    assert exported["clusters"] == {"west": changed}


def test_a_tenant_gives_up_a_cluster(run: Cli, write: Write) -> None:
    clusters = {"west": {"serviceUrl": "http://west:8080"}}
    both = {"shop": {"allowedClusters": ["standalone", "west"]}}
    apply(run, write, {"clusters": clusters, "tenants": both})
    done = apply(run, write, {"tenants": {"shop": {"allowedClusters": ["standalone"]}}})
    assert "      ~ allowedClusters  standalone, west -> standalone" in done.stdout.splitlines()
    assert json.loads(run("tenants", "get", "shop", "-o", "json").stdout)["allowedClusters"] == ["standalone"]


def test_without_prune_nothing_is_deleted(run: Cli, write: Write) -> None:
    document = {"scope": ["shop"], "tenants": {"shop": {}}, "namespaces": {"shop/sales": {}}, "topics": {ORDERS: {}}}
    apply(run, write, document)
    assert apply(run, write, {"scope": ["shop"], "tenants": {"shop": {}}}).stdout.startswith("No changes")
    assert ORDERS in run("topics", "list", "shop/sales").stdout


def test_prune_deletes_from_the_inside_out(run: Cli, write: Write) -> None:
    document = {"tenants": {"shop": {}}, "namespaces": {"shop/sales": {}}, "topics": {ORDERS: {"partitions": 2}}}
    apply(run, write, document)
    done = apply(run, write, {"scope": ["shop"]}, "--prune", "--yes")
    assert done.stdout.splitlines() == [
        "  - tenant shop",
        "  - namespace shop/sales",
        f"  - topic {ORDERS}  (with its messages and subscriptions)",
        "Plan: 0 to create, 0 to change, 3 to delete.",
    ]
    assert done.exit_code == 0
    assert "shop" not in run("tenants", "list").stdout.split()


def test_prune_leaves_what_is_outside_the_scope(run: Cli, write: Write) -> None:
    document = {
        "tenants": {"shop": {"adminRoles": ["boss"]}},
        "namespaces": {"shop/sales": {"policies": {"message-ttl": 60}}, "shop/other": {}},
        "topics": {ORDERS: {}, "shop/other/kept": {}},
    }
    apply(run, write, document)
    apply(run, write, {"scope": ["shop/sales"], "namespaces": {"shop/sales": {}}}, "--prune", "--yes")
    exported = yaml.safe_load(run("export", "-n", "shop").stdout)
    assert exported["tenants"] == {"shop": {"adminRoles": ["boss"]}}
    assert set(exported["namespaces"]) == {"shop/sales", "shop/other"}
    assert "policies" not in exported["namespaces"]["shop/sales"]
    assert set(exported["topics"]) == {"persistent://shop/other/kept"}


def test_prune_inside_an_object_needs_the_section(run: Cli, write: Write) -> None:
    full = {"policies": {"message-ttl": 60}, "permissions": {"app": ["produce"]}, "properties": {"a": "b"}}
    apply(run, write, {"tenants": {"shop": {}}, "namespaces": {"shop/sales": full}})
    apply(run, write, {"namespaces": {"shop/sales": {"permissions": {}}}}, "--prune", "--yes")
    exported = yaml.safe_load(run("export", "-n", "shop").stdout)["namespaces"]["shop/sales"]
    assert "permissions" not in exported
    assert (exported["policies"], exported["properties"]) == (full["policies"], full["properties"])


def test_prune_without_a_terminal_needs_yes(run: Cli, write: Write) -> None:
    apply(run, write, {"tenants": {"shop": {}}})
    done = apply(run, write, {"scope": ["shop"]}, "--prune")
    assert (done.exit_code, "confirm with --yes" in done.stderr) == (2, True)
    assert "shop" in run("tenants", "list").stdout.split()


def test_a_dry_run_shows_the_plan_and_changes_nothing(run: Cli, write: Write) -> None:
    done = apply(run, write, {"tenants": {"shop": {}}}, "--dry-run")
    assert (done.exit_code, done.stdout.splitlines()[0]) == (0, "  + tenant shop")
    assert "shop" not in run("tenants", "list").stdout.split()


def test_diff_shows_the_plan_with_an_exit_code_of_its_own(run: Cli, write: Write) -> None:
    file = write({"tenants": {"shop": {}}})
    different = run("diff", "-f", file)
    assert (different.exit_code, different.stdout.splitlines()[0]) == (13, "  + tenant shop")
    run("apply", "-f", file)
    equal = run("diff", "-f", file)
    assert (equal.exit_code, equal.stdout) == (0, "No changes. The broker has what the files describe.\n")


def test_a_plan_is_shown_as_json(run: Cli, write: Write) -> None:
    shown = json.loads(run("diff", "-f", write({"tenants": {"shop": {"adminRoles": ["a"]}}}), "-o", "json").stdout)
    part = {"path": ["adminRoles"], "old": None, "new": ["a"]}
    assert shown == {
        "changes": [{"action": "create", "kind": "tenant", "name": "shop", "parts": [part]}],
        "refusals": [],
        "summary": {"create": 1, "update": 0, "delete": 0},
    }


def test_what_fails_is_named_and_the_rest_is_done_and_a_second_apply_finishes(
    run: Cli, write: Write, pulsar_broker: EmbeddedBroker
) -> None:
    limited = {"shop/sales": {"policies": {"max-topics-per-namespace": 1}}}
    document: dict[str, Any] = {"tenants": {"shop": {}}, "namespaces": limited}
    topics: dict[str, Any] = {"shop/sales/a": {}, "shop/sales/b": {}}
    done = apply(run, write, document | {"topics": topics})
    assert done.exit_code == 10
    assert "cannot create topic persistent://shop/sales/" in done.stderr
    assert "1 change failed, and 3 succeeded" in done.stderr
    limited["shop/sales"]["policies"]["max-topics-per-namespace"] = 2
    again = apply(run, write, document | {"topics": topics})
    assert (again.exit_code, again.stderr) == (0, "applied 2 changes\n")


def test_what_needs_a_failed_object_is_skipped(run: Cli, write: Write) -> None:
    document = {
        "tenants": {"shop": {"allowedClusters": ["nowhere"]}},
        "namespaces": {"shop/sales": {}},
        "topics": {ORDERS: {}},
    }
    done = apply(run, write, document)
    assert done.exit_code == 10
    assert "skipped: namespace shop/sales needs what failed" in done.stderr
    assert f"skipped: topic {ORDERS} needs what failed" in done.stderr


def test_pulsars_own_namespaces_and_the_default_ones_are_never_deleted(run: Cli, write: Write) -> None:
    run("tenants", "create", "pulsar")
    run("namespaces", "create", "public/functions")
    run("namespaces", "create", "pulsar/system")
    done = run("diff", "-f", write({"scope": ["*"]}), "--prune")
    assert done.stdout == "No changes. The broker has what the files describe.\n"


def test_a_scope_of_pulsars_own_is_refused(run: Cli, write: Write) -> None:
    done = run("diff", "-f", write({"scope": ["pulsar/system"]}), "--prune")
    assert done.exit_code == 2
    assert "'pulsar/system' belongs to Pulsar itself" in done.stderr


def test_retention_and_quota_shrink_and_grow_together(run: Cli, write: Write) -> None:
    def policies(megabytes: int) -> dict[str, Any]:
        quota = {"limitSize": megabytes << 19, "policy": "producer_exception"}
        retention = {"retentionTimeInMinutes": 60, "retentionSizeInMB": megabytes}
        return {"retention": retention, "backlog-quota": {"destination_storage": quota}}

    for megabytes in (10, 1000, 10):
        namespaces = {"shop/sales": {"policies": policies(megabytes)}}
        assert apply(run, write, {"tenants": {"shop": {}}, "namespaces": namespaces}).exit_code == 0


def test_a_quota_of_another_type_is_deleted_by_prune_only(run: Cli, write: Write) -> None:
    def document(*types: str) -> dict[str, Any]:
        quotas = {kind: {"limitSize": 9, "limitTime": 9, "policy": "producer_exception"} for kind in types}
        namespaces = {"shop/sales": {"policies": {"backlog-quota": quotas}}}
        return {"tenants": {"shop": {}}, "namespaces": namespaces}

    apply(run, write, document("destination_storage", "message_age"))
    assert apply(run, write, document("message_age")).stdout.startswith("No changes")
    apply(run, write, document("message_age"), "--prune", "--yes")
    exported = yaml.safe_load(run("export", "-n", "shop").stdout)["namespaces"]["shop/sales"]
    assert set(exported["policies"]["backlog-quota"]) == {"message_age"}


def test_a_value_of_several_lines_stays_on_one_line_of_the_plan(run: Cli, write: Write) -> None:
    namespaces = {"shop/sales": {"properties": {"note": "one\n  - topic two"}}}
    done = apply(run, write, {"tenants": {"shop": {}}, "namespaces": namespaces}, "--dry-run")
    assert '      + properties.note  "one\\n  - topic two"' in done.stdout.splitlines()


def test_a_changed_member_of_a_policy_is_shown_and_not_the_whole_policy(run: Cli, write: Write) -> None:
    def document(minutes: int, rate: int) -> dict[str, Any]:
        policies = {
            "retention": {"retentionTimeInMinutes": minutes, "retentionSizeInMB": 4096},
            "backlog-quota": {"destination_storage": {"limitSize": rate << 30, "policy": "producer_exception"}},
            "publish-rate": {"publishThrottlingRateInMsg": rate, "publishThrottlingRateInByte": -1},
        }
        return {"tenants": {"shop": {}}, "namespaces": {"shop/sales": {"policies": policies}}}

    apply(run, write, document(1440, 1))
    assert run("diff", "-f", write(document(60, 2))).stdout.splitlines() == [
        "  ~ namespace shop/sales",
        "      ~ policies.retention.retentionTimeInMinutes             1d -> 1h",
        "      ~ policies.backlog-quota.destination_storage.limitSize  1.0 GiB -> 2.0 GiB",
        "      ~ policies.publish-rate.publishThrottlingRateInMsg      1 -> 2",
        "Plan: 0 to create, 1 to change, 0 to delete.",
    ]


def test_changed_fields_of_a_schema_are_shown_and_not_two_schemas(run: Cli, write: Write) -> None:
    def document(*fields: dict[str, Any]) -> dict[str, Any]:
        topic = {"schema": {"type": "avro", "schema": {"type": "record", "name": "Order", "fields": list(fields)}}}
        return {"tenants": {"shop": {}}, "namespaces": {"shop/sales": {}}, "topics": {ORDERS: topic}}

    number, note = {"name": "id", "type": "int"}, {"name": "note", "type": ["null", "string"], "default": None}
    apply(run, write, document(number, {"name": "password", "type": "string"}))
    assert run("diff", "-f", write(document(number | {"type": "long"}, note))).stdout.splitlines() == [
        f"  ~ topic {ORDERS}",
        "      ~ schema.schema.fields.id.type   int -> long",
        '      - schema.schema.fields.password  {"type": "string"}',
        '      + schema.schema.fields.note      {"default": null, "type": ["null", "string"]}',
        "Plan: 0 to create, 1 to change, 0 to delete.",
    ]
    swapped = document({"name": "password", "type": "string"}, number)
    assert '      ~ schema.schema.fields  ["id", "password"] -> ["password", "id"]' in (
        run("diff", "-f", write(swapped)).stdout.splitlines()
    )


def test_a_default_of_null_that_a_field_gets_is_shown(run: Cli, write: Write) -> None:
    def document(**more: Any) -> dict[str, Any]:
        fields = [{"name": "note", "type": ["null", "string"], **more}]
        topic = {"schema": {"type": "avro", "schema": {"type": "record", "name": "Order", "fields": fields}}}
        return {"tenants": {"shop": {}}, "namespaces": {"shop/sales": {}}, "topics": {ORDERS: topic}}

    apply(run, write, document())
    assert "      + schema.schema.fields.note.default  null" in (
        run("diff", "-f", write(document(default=None))).stdout.splitlines()
    )


def test_the_secret_in_a_changed_policy_is_not_shown(run: Cli, write: Write) -> None:
    def document(key: str, bucket: str) -> dict[str, Any]:
        offload = {
            "managedLedgerOffloadDriver": "aws-s3",
            "managedLedgerOffloadBucket": bucket,
            "s3ManagedLedgerOffloadCredentialSecret": key,
        }
        return {"tenants": {"shop": {}}, "namespaces": {"shop/sales": {"policies": {"offload-policies": offload}}}}

    apply(run, write, document("abcdef-one", "old"))
    assert run("diff", "-f", write(document("abcdef-two", "new"))).stdout.splitlines()[1:-1] == [
        "      ~ policies.offload-policies.s3ManagedLedgerOffloadCredentialSecret  (sensitive)",
        "      ~ policies.offload-policies.managedLedgerOffloadBucket              old -> new",
    ]


def test_long_values_are_shown_whole(run: Cli, write: Write) -> None:
    before, after = "a" * 200 + "b", "a" * 200 + "c"

    def document(note: str) -> dict[str, Any]:
        return {"tenants": {"shop": {}}, "namespaces": {"shop/sales": {"properties": {"note": note}}}}

    apply(run, write, document(before))
    shown = run("diff", "-f", write(document(after))).stdout
    assert f"      ~ properties.note  {before} -> {after}" in shown.splitlines()
