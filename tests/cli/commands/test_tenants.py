"""`pulsarctl tenants`, exact output."""

from tests.support.runner import Cli, Outcome

OK = Outcome(0, "", "")


def test_list_prints_one_tenant_per_line(cli: Cli) -> None:
    assert cli("tenants", "list") == Outcome(0, "public\npulsar\n", "")


def test_every_output_format_has_the_same_content(cli: Cli) -> None:
    expected = {
        "text": "public\npulsar\n",
        "json": '[\n  "public",\n  "pulsar"\n]\n',
        "jsonl": '{"tenant":"public"}\n{"tenant":"pulsar"}\n',
        "yaml": "- public\n- pulsar\n",
        "name": "public\npulsar\n",
        "table": "TENANT\npublic\npulsar\n",
    }
    for output, text in expected.items():
        assert cli("tenants", "list", "-o", output) == Outcome(0, text, "")
        assert cli("-o", output, "tenants", "list") == Outcome(0, text, "")


def test_a_tenant_is_allowed_on_all_clusters_by_default(cli: Cli) -> None:
    assert cli("tenants", "create", "shop", "-r", "alice,bob", "-r", "carol") == OK
    assert cli("tenants", "get", "shop").stdout == (
        '{\n  "adminRoles" : [ "alice", "bob", "carol" ],\n  "allowedClusters" : [ "standalone" ]\n}\n'
    )
    assert cli("tenants", "delete", "shop") == OK


def test_a_list_without_a_cluster_does_not_allow_all_clusters(cli: Cli) -> None:
    done = cli("tenants", "create", "shop", "--allowed-clusters", ",")
    assert (done.exit_code, "Clusters cannot be empty or blank" in done.stderr) == (6, True), done.stderr
    assert cli("tenants", "list").stdout == "public\npulsar\n"


def test_update_keeps_unspecified_values(cli: Cli) -> None:
    assert cli("tenants", "create", "kept", "--admin-roles", "alice", "--allowed-clusters", "standalone") == OK
    assert cli("tenants", "update", "kept", "--admin-roles", "bob") == OK
    assert cli("tenants", "get", "kept", "-o", "jsonl").stdout == (
        '{"adminRoles":["bob"],"allowedClusters":["standalone"]}\n'
    )
    assert cli("tenants", "delete", "kept") == OK


def test_a_missing_tenant_exits_with_3_the_request_and_a_hint(cli: Cli) -> None:
    url = f"{cli.environ['PULSARCTL_ADMIN_URL']}/admin/v2/tenants/nix"
    assert cli("tenants", "get", "nix") == Outcome(
        3,
        "",
        f"error: Tenant does not exist (404 for GET {url}, URL from PULSARCTL_ADMIN_URL)\n"
        "hint: list what exists: pulsarctl tenants list\n",
    )


def test_an_existing_tenant_exits_with_6(cli: Cli) -> None:
    outcome = cli("tenants", "create", "public")
    assert (outcome.exit_code, outcome.stdout) == (6, "")
    assert outcome.stderr.startswith("error: Tenant already exist (409 for PUT ")


def test_the_names_of_the_go_tool_are_aliases(cli: Cli) -> None:
    assert cli("tenant", "l") == cli("tenants", "list")
    assert cli("-s", str(cli.environ["PULSARCTL_ADMIN_URL"]), "tenants", "g", "public").exit_code == 0
