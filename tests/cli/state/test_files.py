"""Files: what is refused, with file and line, before any request; variables; and overlays."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pulsarctl.errors import UsageProblem
from pulsarctl.state import documents, layers
from pulsarctl.state.grammar import check
from pulsarctl.state.session import Declared
from tests.cli.state.conftest import Write
from tests.support.runner import Cli

TEXTS = (
    "1.5e3",
    "-.5",
    "+.5E-3",
    "nULL",
    "tRue",
    "FALSE",
    "~",
    "",
    "12",
    "0x1f",
    "1_0",
    "on",
    "1:30",
    "2026-01-01",
    "a\nb",
)
NOWHERE = ("--admin-url", "http://127.0.0.1:1", "--no-context")  # a request would fail with exit code 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tenant: {}", "state.yaml:1: tenant: unknown key 'tenant'; did you mean 'tenants'?"),
        ("tenants:\n  shop:\n    roles: []", "state.yaml:3: tenants.shop.roles: unknown key of a tenant 'roles'"),
        (
            "namespaces:\n  shop/a:\n    policies:\n      retentoin: {}",
            "state.yaml:4: namespaces.shop/a.policies.retentoin: unknown policy of a namespace 'retentoin'; did you"
            " mean 'retention'?",
        ),
        (
            "namespaces:\n  shop/a:\n    policies:\n      message-ttl: soon",
            "state.yaml:4: namespaces.shop/a.policies.message-ttl: 'soon' is not a duration",
        ),
        (
            "namespaces:\n  a/b:\n    policies:\n      retention: {retentionTimeInMinutes: 30s, retentionSizeInMB: 1}",
            "'30s' is not a whole number of minutes, and Pulsar stores no fractions",
        ),
        (
            "namespaces:\n  shop/a:\n    policies:\n      retention: {retentionTimeInMinutes: 1}",
            "state.yaml:4: namespaces.shop/a.policies.retention: 'retentionSizeInMB' is missing",
        ),
        (
            "topics:\n  a:\n    partitions: many",
            "state.yaml:3: topics.persistent://public/default/a.partitions: expected a number, got 'many'",
        ),
        ("topics:\n  a: {partitions: -1}", "expected 0 or more, got -1"),
        ("topics:\n  a: {policies: {deduplication: 1}}", "expected true or false, got 1"),
        ("topics:\n  a: {permissions: {app: [write]}}", "expected one of produce, consume, functions"),
        ("topics:\n  a: {permissions: {app: []}}", "the list is empty: name one or more, or leave the key out"),
        ("topics:\n  a: {permissions: {app: produce}}", "expected a list of names, got 'produce'"),
        ("topics:\n  a: {schema: {schema: x}}", "topics.persistent://public/default/a.schema: 'type' is missing"),
        ("topics: [a]", "state.yaml:1: topics: expected an object with one key for each topic, got a list"),
        ("topics:\n  a/b: {}", "state.yaml:2: topics.a/b: 'a/b' is not a topic name"),
        ("topics:\n  a-partition-1: {}", "a partition is no topic of its own: name the partitioned topic"),
        ("namespaces:\n  shop: {}", "state.yaml:2: namespaces.shop: 'shop' is not a namespace name"),
        ("tenants:\n  a/b: {}", "state.yaml:2: tenants.a/b: a tenant's name has no '/'"),
        ("tenants:\n  1: {adminRoles: [5]}", "expected text, got 5; put it in quotes"),
        ("tenants:\n  a: {}\n  b: {}\n  a: {}", "state.yaml:4: 'a' is defined twice, first in line 2"),
        ("topics:\n  a: {}\n  public/default/a: {}", "is defined already, in "),
        ("tenants: {a: {}}\n---\ntenants: {a: {}}", "state.yaml:3: 'a' is defined already, in "),
        ("tenants:\n  a: {<<: {}}", "merge keys (<<) are not supported"),
        ("tenants: &all\n  a: *all", "more than 210 objects inside each other"),
        ("tenants: {a", "cannot read "),
        ("- a", "state.yaml:1: a document has keys such as tenants"),
        ("scope: [a/b/c]", "scope: 'a/b/c' is neither TENANT nor TENANT/NAMESPACE"),
        ("scope: ['']", "scope: '' is neither TENANT"),
        ("tenants: {a: {adminRoles: ['${NOT_SET}']}}", "the environment variable PULSARCTL_VAR_NOT_SET is not set"),
        ("tenants: {a: {adminRoles: ['${1}']}}", "'${' starts no variable"),
    ],
)
def test_a_mistake_is_refused_with_its_place_before_any_request(
    cli_alone: Cli, write: Write, text: str, message: str
) -> None:
    done = cli_alone("apply", "-f", write(text), *NOWHERE)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


def test_all_mistakes_are_shown_at_once(cli_alone: Cli, write: Write) -> None:
    done = cli_alone("apply", "-f", write("topics:\n  a: {partitions: x}\n  b: {partitions: y}"), *NOWHERE)
    assert "2 mistakes in the files" in done.stderr
    assert [word in done.stderr for word in ("got 'x'", "got 'y'")] == [True, True]


@pytest.mark.parametrize("name", ["missing.yaml", "empty"])
def test_a_place_without_files_is_refused(cli_alone: Cli, write: Write, name: str) -> None:
    write("", "empty/other.txt")
    done = cli_alone("apply", "-f", write("").replace("state.yaml", name), *NOWHERE)
    assert done.exit_code == 2
    assert "cannot read " in done.stderr


def test_aliases_cannot_make_a_small_file_large(cli_alone: Cli, write: Write) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    done = cli_alone("apply", "-f", write("\n".join(lines)), *NOWHERE)
    assert done.exit_code == 2
    assert "aliases (*name) repeat more than 1,000,000 values" in done.stderr


def test_deep_nesting_is_refused(cli_alone: Cli, write: Write) -> None:
    done = cli_alone("apply", "-f", write("a: " + "[" * 500 + "]" * 500), *NOWHERE)
    assert done.exit_code == 2
    assert "more than 210 objects inside each other" in done.stderr


def test_a_variable_is_replaced_in_values_and_keys(write: Write) -> None:
    text = """
topics:
  ${WHERE}/a:
    partitions: ${N}
    policies: {deduplication: "${YES}", max-producers: "${N}"}
    properties: {a: "$${N}", b: "x${N}y", c: "${N}"}
"""
    declared = Declared.load(
        [write(text)], {"PULSARCTL_VAR_WHERE": "shop/b", "PULSARCTL_VAR_N": "4", "PULSARCTL_VAR_YES": "true"}
    )
    policies = {"deduplication": True, "max-producers": 4}
    properties = {"a": "${N}", "b": "x4y", "c": "4"}
    topic = {"partitions": 4, "policies": policies, "properties": properties}
    assert declared.objects == {"topics": {"persistent://shop/b/a": topic}}


def test_a_variable_adds_no_keys(write: Write) -> None:
    declared = Declared.load(
        [write("tenants: {a: {adminRoles: ['${R}']}}")], {"PULSARCTL_VAR_R": "x]}, b: {adminRoles: [y"}
    )
    assert declared.objects == {"tenants": {"a": {"adminRoles": ["x]}, b: {adminRoles: [y"]}}}


def test_a_later_layer_merges_over_an_earlier_one(write: Write) -> None:
    base = write(
        "scope: [shop]\n"
        "namespaces:\n"
        "  shop/a:\n"
        "    policies: {message-ttl: 1h, deduplication: true, subscription-types-enabled: [Shared]}\n"
        "topics:\n"
        "  shop/a/t: {subscriptions: {billing: {properties: {a: b}}}}\n",
        "base/one.yaml",
    )
    write("tenants: {shop: {}}", "base/two.json")
    overlay = write(
        "scope: [other]\n"
        "namespaces:\n"
        "  shop/a:\n"
        "    policies: {message-ttl: 2h, deduplication: null, subscription-types-enabled: [Failover]}\n"
        "topics:\n"
        "  persistent://shop/a/t: {partitions: 3, subscriptions: {billing: null}}\n"
        "  shop/a/u:\n",
        "prod.yaml",
    )
    declared = Declared.load([base.rpartition("/")[0], overlay], {})
    assert declared.scope.names == {"shop", "other"}
    assert declared.objects == {
        "tenants": {"shop": {}},
        "namespaces": {"shop/a": {"policies": {"message-ttl": 7200, "subscription-types-enabled": ["Failover"]}}},
        "topics": {
            "persistent://shop/a/t": {"partitions": 3, "subscriptions": {"billing": {"properties": {"a": "b"}}}},
            "persistent://shop/a/u": {},
        },
    }


def test_one_object_in_two_files_of_a_directory_is_refused_with_both_places(write: Write) -> None:
    write("tenants:\n  shop: {}", "dir/a.yaml")
    place = write("\ntenants:\n  shop: {}", "dir/b.yaml").rpartition("/")[0]
    with pytest.raises(UsageProblem, match=r"b\.yaml:3: 'shop' is defined already, in .*a\.yaml:2"):
        layers.load([place], {})


def test_a_document_comes_from_stdin(cli_alone: Cli) -> None:
    done = cli_alone("apply", "-f", "-", *NOWHERE, stdin="tenants: {a: {roles: []}}")
    assert "stdin:1: tenants.a.roles: unknown key of a tenant" in done.stderr


@pytest.mark.parametrize(
    ("text", "value"),
    [("on", "on"), ("1:30", "1:30"), ("2024-01-01", "2024-01-01"), ("007", "007"), ("1e3", "1e3"), ("0x10", "0x10")],
)
def test_plain_words_are_text_as_in_yaml_1_2(text: str, value: str) -> None:
    assert documents.parse(f"a: {text}", "f", {})[0] == {"a": value}


def test_a_number_of_more_than_64_bits_is_a_number() -> None:
    """A rate may be as large as a Java double, and an export writes it as a whole number."""
    assert documents.parse("a: 18446744073709551616", "f", {})[0] == {"a": 1 << 64}


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(), st.text(min_size=1))
def test_any_text_is_read_as_it_was_written(value: str, key: str) -> None:
    text = "".join(documents.written(documents.escaped({"a": {key: value, "list": [value]}})))
    assert documents.parse(text, "f", {}) == [{"a": {key: value, "list": [value]}}]


@settings(max_examples=100)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["tenants", "topics", "a", "shop/a", "policies", "retention"]), inner)
        ),
    ).filter(lambda value: isinstance(value, dict))
)
def test_any_document_is_accepted_or_refused_with_a_reason(value: dict[str, object]) -> None:
    (document,) = documents.parse("".join(documents.written(documents.escaped(value))) or "{}", "f", {})
    try:
        check(document)
    except UsageProblem as problem:
        assert "f:" in " ".join([problem.message, *problem.details])


@settings(deadline=None)
@given(st.lists(st.one_of(st.sampled_from(TEXTS), st.text("-+.0189eE_nulltrue~: ", max_size=6))))
def test_what_is_written_is_read_as_the_same_text(texts: list[str]) -> None:
    document = {"texts": texts, "keys": {text: text for text in texts}}
    assert documents.parse("".join(documents.written(documents.escaped(document))), "written.yaml", {}) == [document]


def test_a_file_reads_no_variable_that_was_not_meant_for_it(write: Write) -> None:
    """A plan prints values, so a file of a pull request could show a token of the job that checks it."""
    for name in ("PULSARCTL_TOKEN", "TOKEN", "HOME"):
        file = write({"tenants": {"a": {"adminRoles": [f"${{{name}}}"]}}})
        secrets = {"PULSARCTL_TOKEN": "s3cret", "TOKEN": "s3cret", "HOME": "/s3cret"}
        with pytest.raises(UsageProblem, match=f"the environment variable PULSARCTL_VAR_{name} is not set"):
            Declared.load([file], secrets)
