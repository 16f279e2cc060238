import runpy
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.missing_features import FEATURES
from broker_core.config.proxy import ProxyBrokersConfig, ProxyConfig
from broker_core.config.proxy_sources import load_proxy_config
from broker_core.config.removed_keys import REMOVED
from broker_core.config.sources import load_config
from broker_core.errors import InvalidConfiguration

ROOT = Path(__file__).parents[4]

RELEASED = """\
### --- General broker settings --- ###

# The metadata store URL
metadataStoreUrl=

brokerServicePort=6650
webServicePort = 8080
# Hostname or IP address the service binds on
bindAddress=0.0.0.0
allowUnauthenticatedAccess=true
advertisedAddress=
numIOThreads=
maxUnackedMessagesPerConsumer=1000
ttlDurationDefaultInSeconds=\\
    60
! another kind of comment
flushInterval=30000
journalSyncData=false
authenticationEnabled=false
"""


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_without_sources_all_settings_have_their_defaults() -> None:
    loaded = load_config(environment={})
    assert asdict(loaded.config) == asdict(BrokerConfig())
    assert loaded.warnings == ()
    assert loaded.file is None


def test_each_source_overrides_the_previous_one(tmp_path: Path) -> None:
    file = write(tmp_path, "c.yaml", "brokerServicePort: 1\nwebServicePort: 1\nmaxMessageSize: 1\n")
    environment = {"PULSARCTL_CONF_webServicePort": "2", "PULSARCTL_CONF_maxMessageSize": "2"}

    config = load_config(file, environment=environment, options=["maxMessageSize=3"]).config

    assert (config.server.broker_port, config.server.web_port, config.connection.max_message_size) == (
        1,
        2,
        3,
    )


def test_a_flag_overrides_an_option() -> None:
    loaded = load_config(environment={}, options=["brokerServicePort=1"], flags={"brokerServicePort": 2})
    assert loaded.config.server.broker_port == 2


def test_the_environment_names_the_file_unless_an_option_does(tmp_path: Path) -> None:
    named = write(tmp_path, "named.yaml", "clusterName: named")
    given = write(tmp_path, "given.yaml", "clusterName: given")
    environment = {"PULSAR_STANDALONE_CONF": str(named)}
    assert load_config(environment=environment).config.server.cluster_name == "named"
    assert load_config(given, environment=environment).config.server.cluster_name == "given"


def test_a_standalone_conf_of_a_release_is_read_unchanged(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, "standalone.conf", RELEASED), environment={}).config
    assert config.server.bind_address == "0.0.0.0"
    assert config.server.advertised_address == "localhost"  # a key without a value is not set
    assert config.dispatch.max_unacked_per_consumer == 1000
    assert config.policies.ttl_seconds == 60  # continued line
    assert config.storage.checkpoint_seconds == 30.0  # milliseconds in the file
    assert config.storage.journal_sync is False


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("standalone.conf", "brokerServicePort=\nwebServicePort=\nmaxMessageSize=\n"),
        ("standalone.yaml", 'brokerServicePort:\nwebServicePort: ""\nmaxMessageSize:\n'),
    ],
)
def test_an_empty_port_has_no_listener_and_another_empty_value_is_the_default(
    tmp_path: Path, name: str, text: str
) -> None:
    config = load_config(write(tmp_path, name, text), environment={}).config
    assert (config.server.broker_port, config.server.web_port) == (-1, -1)
    assert config.connection.max_message_size == 5 << 20
    assert load_config(environment={}, options=["webServicePort="]).config.server.web_port == -1


def test_unknown_keys_of_a_file_are_reported_in_one_line(tmp_path: Path) -> None:
    text = "".join(f"unknownKey{number}=1\n" for number in range(8))
    file = write(tmp_path, "standalone.conf", text)
    assert load_config(file, environment={}).warnings == (
        f"{file}: ignoring keys that this broker does not have: "
        "unknownKey0, unknownKey1, unknownKey2, unknownKey3, unknownKey4 and 3 more",
    )


def test_risky_settings_of_a_file_apply_with_one_warning_each(tmp_path: Path) -> None:
    file = write(
        tmp_path, "standalone.conf", "journalSyncData=false\nbindAddress=0.0.0.0\nallowUnauthenticatedAccess=true\n"
    )
    loaded = load_config(file, environment={})
    assert loaded.warnings == (
        f"journalSyncData=false ({file}, line 1): a power failure can lose messages that the broker has confirmed",
        f"bindAddress=0.0.0.0 ({file}, line 2): "
        "there is no authentication: anyone who can reach this address can read and change all data",
    )


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "localhost", "127.5.5.5"])
def test_a_loopback_address_logs_no_warning(address: str) -> None:
    assert load_config(environment={}, options=[f"bindAddress={address}"]).warnings == ()


def test_tls_that_has_no_port_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, "standalone.conf", "tlsEnabled=true\n")
    with pytest.raises(InvalidConfiguration, match=r"tlsEnabled=true .*set brokerServicePortTls"):
        load_config(file, environment={})


def test_an_address_for_everyone_without_authentication_is_refused() -> None:
    with pytest.raises(InvalidConfiguration, match=r"bindAddress=0\.0\.0\.0 \(-X .*--allow-unauthenticated"):
        load_config(environment={}, options=["bindAddress=0.0.0.0"])
    for accepted in ("allowUnauthenticatedAccess=true", "authenticationEnabled=true"):
        assert load_config(environment={}, options=["bindAddress=0.0.0.0", accepted]).config.server.bind_address


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("brokerServicePort=abc", "brokerServicePort must be a whole number, not 'abc'"),
        ("brokerServicePort=70000", "brokerServicePort must be at most 65535, not '70000'"),
        ("brokerServicePort=-2", "brokerServicePort must be at least -1, not '-2'"),
        ("journalSyncData=maybe", "journalSyncData must be true or false, not 'maybe'"),
        ("keepAliveIntervalSeconds=soon", "keepAliveIntervalSeconds must be a number, not 'soon'"),
        ("keepAliveIntervalSeconds=nan", "keepAliveIntervalSeconds must be a number, not 'nan'"),
        ("flushInterval=0", "flushInterval must be at least 10, not '0'"),
        (
            "allowAutoTopicCreationType=both",
            "allowAutoTopicCreationType must be one of non-partitioned, partitioned, not 'both'",
        ),
    ],
)
def test_an_invalid_value_is_refused_with_key_value_and_source(option: str, reason: str) -> None:
    with pytest.raises(InvalidConfiguration) as refused:
        load_config(environment={}, options=[option])
    assert refused.value.reason == f"{reason} (-X {option})"


def test_an_invalid_value_in_a_file_is_reported_with_its_line(tmp_path: Path) -> None:
    file = write(tmp_path, "standalone.conf", "# first\nwebServicePort=http\n")
    with pytest.raises(InvalidConfiguration) as refused:
        load_config(file, environment={})
    assert refused.value.reason == f"webServicePort must be a whole number, not 'http' ({file}, line 2)"


@pytest.mark.parametrize("variable", ["brokerServicPort", "BROKERSERVICEPORT"])
def test_an_unknown_key_in_the_environment_is_an_error_with_a_suggestion(variable: str) -> None:
    with pytest.raises(InvalidConfiguration) as refused:
        load_config(environment={f"PULSARCTL_CONF_{variable}": "1"})
    assert refused.value.reason == (
        f"unknown key '{variable}' (environment variable PULSARCTL_CONF_{variable}); did you mean brokerServicePort?"
    )


def test_an_unknown_option_without_a_similar_key_gets_no_suggestion() -> None:
    with pytest.raises(InvalidConfiguration) as refused:
        load_config(environment={}, options=["zzz=1"])
    assert refused.value.reason == "unknown key 'zzz' (-X zzz=1)"


def test_an_option_without_a_value_is_refused() -> None:
    with pytest.raises(InvalidConfiguration, match="expected key=value"):
        load_config(environment={}, options=["brokerServicePort"])


def test_retention_with_one_limit_at_zero_is_refused() -> None:
    with pytest.raises(InvalidConfiguration, match=r"Invalid retention policy.*defaultRetentionSizeInMB"):
        load_config(environment={}, options=["defaultRetentionSizeInMB=5"])


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("missing.yaml", None, "cannot read the configuration file"),
        ("broken.yaml", "a: [", "is not YAML"),
        ("list.yaml", "- a\n", "must hold one mapping"),
    ],
)
def test_an_unreadable_file_is_named_in_the_error(tmp_path: Path, name: str, text: str | None, reason: str) -> None:
    if text is not None:
        write(tmp_path, name, text)
    with pytest.raises(InvalidConfiguration, match=reason) as refused:
        load_config(tmp_path / name, environment={})
    assert name in refused.value.reason


def test_the_generated_file_is_current_and_loads_as_the_defaults() -> None:
    generated = runpy.run_path(str(ROOT / "conf" / "generate.py"))["standalone_yaml"]()
    assert (ROOT / "conf" / "standalone.yaml").read_text(encoding="utf-8") == generated, "run `make docs`"
    loaded = load_config(ROOT / "conf" / "standalone.yaml", environment={})
    assert asdict(loaded.config) == asdict(BrokerConfig())
    assert loaded.warnings == ()


def test_no_key_is_used_twice_and_each_has_a_sentence() -> None:
    settings = [field.metadata["setting"] for _section, field, _value in BrokerConfig().settings()]
    keys = [setting.key for setting in settings]
    assert len(keys) == len(set(keys))
    assert all(setting.doc.endswith(".") for setting in settings)


def test_the_generated_file_of_the_proxy_is_current_and_loads_as_the_defaults() -> None:
    generated = runpy.run_path(str(ROOT / "conf" / "generate.py"))["proxy_yaml"]()
    assert (ROOT / "conf" / "proxy.yaml").read_text(encoding="utf-8") == generated, "run `make docs`"
    loaded = load_proxy_config(ROOT / "conf" / "proxy.yaml", environment={}, options=["brokerServiceURL=pulsar://b"])
    assert asdict(replace(loaded.config, brokers=ProxyBrokersConfig())) == asdict(ProxyConfig())
    assert loaded.warnings == ()


RELEASED_PROXY = """\
metadataStoreUrl=
brokerServiceURL=pulsar://broker:6650
brokerWebServiceURL=http://broker:8080
brokerProxyAllowedHostNames=*
brokerProxyAllowedIPAddresses=*
brokerProxyAllowedTargetPorts=6650,6651
bindAddress=127.0.0.1
servicePort=16650
servicePortTls=
httpNumThreads=8
httpProxyTimeout=60000
"""


def test_a_proxy_conf_of_a_release_is_read_unchanged(tmp_path: Path) -> None:
    file = write(tmp_path, "proxy.conf", RELEASED_PROXY)
    loaded = load_proxy_config(environment={"PULSAR_PROXY_CONF": str(file)})
    assert (loaded.config.server.port, loaded.config.tls.broker_port) == (16650, -1)
    assert loaded.config.brokers.allowed_hosts == "*"
    assert loaded.config.http.request_seconds == 60.0
    assert loaded.warnings == (f"{file}: ignoring keys that this proxy does not have: httpNumThreads",)


def test_a_proxy_without_brokers_is_refused() -> None:
    with pytest.raises(InvalidConfiguration, match=r"set brokerServiceURL; it finds no brokers in metadataStoreUrl"):
        load_proxy_config(environment={}, options=["metadataStoreUrl=zk:2181"])


def test_a_proxy_for_everyone_without_authentication_is_refused() -> None:
    options = ["brokerServiceURL=pulsar://broker:6650", "bindAddress=0.0.0.0"]
    with pytest.raises(InvalidConfiguration, match=r"bindAddress=0\.0\.0\.0 \(-X .*--allow-unauthenticated"):
        load_proxy_config(environment={}, options=options)
    for accepted in (
        "allowUnauthenticatedAccess=true",
        "authenticationEnabled=true",
        "forwardAuthorizationCredentials=true",
    ):
        assert load_proxy_config(environment={}, options=[*options, accepted]).config.server.bind_address


def test_a_key_of_the_broker_is_unknown_to_the_proxy() -> None:
    with pytest.raises(InvalidConfiguration, match=r"unknown key 'proxyRoles'"):
        load_proxy_config(environment={}, options=["proxyRoles=a"])


def test_each_key_that_asks_for_a_missing_feature_is_named(tmp_path: Path) -> None:
    asked = "enablePackagesManagement=true\nbrokerInterceptors=audit\n"
    default = "functionsWorkerEnabled=false\nentryFilterNames=\nwebSocketServiceEnabled=False\n"
    default += "authorizationProvider=org.apache.pulsar.broker.authorization.PulsarAuthorizationProvider\n"
    file = write(tmp_path, "standalone.conf", default + asked)
    assert load_config(file, environment={}).warnings[1:] == (
        f"enablePackagesManagement=true ({file}, line 5) has no effect: this broker does not have packages management",
        f"brokerInterceptors=audit ({file}, line 6) has no effect: this broker does not have broker interceptors",
    )


def test_each_key_that_pulsar_removed_is_named(tmp_path: Path) -> None:
    keys = sorted(REMOVED)
    file = write(tmp_path, "broker.conf", "".join(f"{key}=true\n" for key in keys))
    assert load_config(file, environment={}).warnings[1:] == tuple(
        f"{key} ({file}, line {line}) has no effect: Pulsar 5.0 removed it, and this broker never had it"
        for line, key in enumerate(keys, 1)
    )


OF_PULSAR_5 = """\
internalListenerName=internal
exposeCustomTopicMetricLabelsEnabled=false
allowedTopicPropertyKeysForMetrics=
brokerCloseInactiveTopicsEnabled=false
exposeSubscriptionBacklogAgeInPrometheus=false
enableBrokerTopicListWatcher=true
httpServerIdleTimeout=30000
schemaJsonAllowLegacyJacksonFormat=false
strictAuthMethod=false
authenticationRoleLoggingAnonymizer=NONE
enableShadowTopics=false
tlsFactoryClassName=
maxTopicListInFlightHeapMemSizeMB=100
"""


def test_the_new_keys_of_pulsar_5_are_read_from_its_file(tmp_path: Path) -> None:
    file = write(tmp_path, "standalone.conf", OF_PULSAR_5)
    loaded = load_config(file, environment={})
    assert loaded.config.schema.allow_legacy_json is False
    assert loaded.config.server.internal_listener == "internal"
    (unknown,) = loaded.warnings
    assert "maxTopicListInFlightHeapMemSizeMB" in unknown


def test_no_feature_that_the_broker_has_is_called_missing() -> None:
    known = {field.metadata["setting"].key for _, field, _ in BrokerConfig().settings()}
    assert known.isdisjoint(FEATURES)


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("brokerDeleteInactiveTopicsEnabled=true", "mutually exclusive"),
        ("brokerDeleteInactiveTopicsMode=delete_when_subscriptions_caught_up", "only supports"),
    ],
)
def test_inactive_topics_are_either_unloaded_or_deleted(option: str, why: str) -> None:
    with pytest.raises(InvalidConfiguration, match=f"{why}.*-X brokerCloseInactiveTopicsEnabled=true"):
        load_config(environment={}, options=["brokerCloseInactiveTopicsEnabled=true", option])
