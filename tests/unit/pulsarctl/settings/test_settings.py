"""Which value wins, and which source it came from."""

from dataclasses import replace
from pathlib import Path

import pytest

from pulsarctl.errors import NotFound, UsageProblem
from pulsarctl.output.render import Output
from pulsarctl.settings.settings import resolve

CONTEXTS = """
contexts:
  prod: {admin-service-url: "http://prod:8080", broker-service-url: "pulsar://prod:6650"}
  test: {admin-service-url: "http://test:8080"}
auth-info:
  prod: {token: secret-of-prod}
current-context: prod
"""


def write_contexts(home: Path) -> dict[str, str]:
    folder = home / ".config" / "pulsar"
    folder.mkdir(parents=True)
    (folder / "config").write_text(CONTEXTS)
    return {"HOME": str(home)}


def test_the_default_is_a_broker_on_this_machine(tmp_path: Path) -> None:
    settings = resolve({}, {"HOME": str(tmp_path)}, tmp_path)
    assert (settings.web_url, settings.service_url) == ("http://localhost:8080", "pulsar://localhost:6650")
    assert settings.origin("web_url") == "the default"


def test_each_source_outweighs_the_ones_after_it(tmp_path: Path) -> None:
    environ = write_contexts(tmp_path / "home")
    (tmp_path / "client.conf").write_text("webServiceUrl=http://local-conf:8080\n")
    named = tmp_path / "named.conf"
    named.write_text("# a comment\nwebServiceUrl=http://named-conf:8080\nauthParams=token:abc=\n")
    conf = {"PULSAR_CLIENT_CONF": str(named)}
    variable = {"PULSARCTL_ADMIN_URL": "http://variable:8080"}
    context = {"PULSARCTL_CONTEXT": "test"}
    steps = [
        ({}, {}, "http://prod:8080", "current context 'prod'"),
        ({}, conf, "http://named-conf:8080", f"{named} (PULSAR_CLIENT_CONF)"),
        ({}, conf | variable, "http://variable:8080", "PULSARCTL_ADMIN_URL"),
        ({}, conf | variable | context, "http://test:8080", "context 'test' (PULSARCTL_CONTEXT)"),
        ({"context": "prod"}, conf | variable | context, "http://prod:8080", "context 'prod' (--context)"),
        ({"context": "prod", "web_url": "http://flag"}, conf | variable, "http://flag", "--admin-url"),
    ]
    for flags, extra, url, origin in steps:
        settings = resolve(flags, environ | extra, tmp_path)
        assert (settings.web_url, settings.origin("web_url")) == (url, origin)


def test_a_client_conf_in_the_working_directory_outweighs_only_the_default(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "client.conf").write_text("brokerServiceUrl=pulsar://near:6650/\n")
    settings = resolve({}, {"HOME": str(tmp_path)}, tmp_path)
    assert settings.service_url == "pulsar://near:6650/"
    assert settings.origin("service_url") == "conf/client.conf"


def test_client_conf_can_be_yaml(tmp_path: Path) -> None:
    conf = tmp_path / "client.yaml"
    conf.write_text("webServiceUrl: http://yaml:8080\ntlsAllowInsecureConnection: true\nunknown: 1\n")
    settings = resolve({"config_file": str(conf)}, {"HOME": str(tmp_path)}, tmp_path)
    assert (settings.web_url, settings.tls_allow_insecure) == ("http://yaml:8080", True)


def test_the_client_conf_in_the_repository_changes_nothing(tmp_path: Path) -> None:
    shipped = Path(__file__).parents[4] / "conf" / "client.yaml"
    given = resolve({"config_file": str(shipped)}, {"HOME": str(tmp_path)}, tmp_path)
    assert replace(given, origins={}) == resolve({}, {"HOME": str(tmp_path)}, tmp_path)


def test_an_environment_variable_that_overrides_the_context_is_reported(tmp_path: Path) -> None:
    environ = write_contexts(tmp_path) | {"PULSARCTL_ADMIN_URL": "http://other:8080"}
    assert resolve({}, environ, tmp_path).notices == (
        "notice: PULSARCTL_ADMIN_URL is set and overrides the current context 'prod'",
    )
    environ["PULSARCTL_SERVICE_URL"] = "pulsar://other:6650"
    assert resolve({}, environ, tmp_path).notices == (
        "notice: PULSARCTL_ADMIN_URL and PULSARCTL_SERVICE_URL are set and override the current context 'prod'",
    )


def test_no_context_does_not_read_the_context_file(tmp_path: Path) -> None:
    settings = resolve({"no_context": True}, write_contexts(tmp_path), tmp_path)
    assert settings.web_url == "http://localhost:8080"


def test_an_unknown_context_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no context 'nix' in .* \(known contexts: prod, test\)"):
        resolve({"context": "nix"}, write_contexts(tmp_path), tmp_path)


def test_values_have_their_types(tmp_path: Path) -> None:
    environ = {
        "HOME": str(tmp_path),
        "PULSARCTL_REQUEST_TIMEOUT": "2m",
        "PULSARCTL_OUTPUT": "json",
        "PULSARCTL_TLS_ALLOW_INSECURE": "true",
        "PULSARCTL_EMBEDDED": "/data/my broker",
    }
    settings = resolve({}, environ, tmp_path)
    assert settings.request_timeout_seconds == 120
    assert settings.output is Output.JSON
    assert settings.tls_allow_insecure is True
    assert settings.embedded == Path("/data/my broker")


def test_an_error_for_an_unknown_output_names_its_source(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="PULSARCTL_OUTPUT: unknown output format 'xml'"):
        resolve({}, {"HOME": str(tmp_path), "PULSARCTL_OUTPUT": "xml"}, tmp_path)


def test_a_missing_client_conf_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match=r"cannot read .*nix\.conf"):
        resolve({"config_file": str(tmp_path / "nix.conf")}, {"HOME": str(tmp_path)}, tmp_path)


@pytest.mark.parametrize("name", ["token", "auth_params", "key_file"])
def test_secrets_are_not_in_the_representation(tmp_path: Path, name: str) -> None:
    assert "very-secret" not in repr(resolve({name: "very-secret"}, {"HOME": str(tmp_path)}, tmp_path))


def test_credentials_of_the_command_line_replace_those_of_a_context(tmp_path: Path) -> None:
    """A token of the context would otherwise outweigh the password."""
    settings = resolve({"user": "me", "password_file": "p"}, write_contexts(tmp_path), tmp_path)
    assert (settings.user, settings.password_file, settings.token) == ("me", "p", None)


def test_a_token_file_of_the_environment_replaces_the_token_of_a_context(tmp_path: Path) -> None:
    settings = resolve({}, write_contexts(tmp_path) | {"PULSARCTL_TOKEN_FILE": "mine"}, tmp_path)
    assert (settings.token_file, settings.token) == ("mine", None)


def test_the_parts_of_one_method_can_come_from_several_sources(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "PULSARCTL_PASSWORD_FILE": "kept"}
    settings = resolve({"user": "me"}, environ, tmp_path)
    assert (settings.user, settings.password_file, settings.origin("password_file")) == (
        "me",
        "kept",
        "PULSARCTL_PASSWORD_FILE",
    )


def test_two_methods_on_one_command_line_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="cannot combine --token-file and --user: they are different credentials"):
        resolve({"token_file": "t", "user": "me"}, {"HOME": str(tmp_path)}, tmp_path)
