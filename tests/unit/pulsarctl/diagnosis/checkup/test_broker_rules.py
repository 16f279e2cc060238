"""The rules of `doctor` for states that no test machine is in."""

import pytest

from pulsarctl.diagnosis.checkup import area, broker_rules, client_rules
from pulsarctl.diagnosis.checkup.area import Area
from pulsarctl.diagnosis.checkup.broker_rules import Disk, Versions
from pulsarctl.diagnosis.checkup.client_rules import Certificate, Configuration, Runtimes
from pulsarctl.diagnosis.finding import Finding, Severity

NOW_MS = 1_790_000_000_000
DAY_MS = 86_400_000
GIB = 1 << 30


@pytest.mark.parametrize(
    ("days", "code", "severity"),
    [
        (-1, "certificate-expired", "problem"),
        (6, "certificate-expires", "problem"),
        (20, "certificate-expires", "warning"),
        (60, "certificate", "ok"),
    ],
)
def test_a_certificate_is_judged_by_the_days_it_has_left(days: int, code: str, severity: str) -> None:
    one = client_rules.certificate(Certificate("the certificate of x", NOW_MS + days * DAY_MS), NOW_MS)
    assert (one.code, one.severity) == (code, severity)


@pytest.mark.parametrize(("free", "severity"), [(4 * GIB, "problem"), (10 * GIB, "warning"), (50 * GIB, "ok")])
def test_a_disk_is_judged_by_what_is_free(free: int, severity: str) -> None:
    assert broker_rules.disk(Disk("the broker's disk", free, 100 * GIB)).severity == severity


def test_a_disk_that_is_not_reported_is_no_reason_to_warn() -> None:
    one = broker_rules.disk(None)
    assert (one.severity, one.certainty) == ("ok", "likely")


@pytest.mark.parametrize(("skew_ms", "severity"), [(-500, "ok"), (5000, "warning"), (-60_000, "problem")])
def test_a_clock_is_judged_by_its_skew(skew_ms: int, severity: str) -> None:
    assert broker_rules.clock(skew_ms).severity == severity


@pytest.mark.parametrize(
    ("broker", "is_ours", "codes"),
    [
        ("4.0.7", False, ["versions"]),
        ("2.8.1", False, ["versions", "old-broker"]),
        ("0.1.0", True, ["versions"]),
        ("0.0.9", True, ["versions", "other-version"]),
        ("", False, ["versions"]),
    ],
)
def test_versions_that_do_not_fit(broker: str, is_ours: bool, codes: list[str]) -> None:
    found = broker_rules.versions(Versions("0.1.0", "3.12.0", "3.13.0", broker, is_ours))
    assert [one.code for one in found] == codes


@pytest.mark.parametrize(
    ("one", "code", "severity"),
    [
        (Runtimes(None, None), "no-spark", "ok"),
        (Runtimes("4.0.0", None), "no-java", "warning"),
        (Runtimes("4.0.0", 17, "/jvm"), "spark", "ok"),
    ],
)
def test_spark_needs_java(one: Runtimes, code: str, severity: str) -> None:
    assert [(each.code, each.severity) for each in client_rules.runtimes(one)] == [(code, severity)]


def configured(web_url: str, service_url: str, **fields: object) -> list[str]:
    one = Configuration(web_url, "a", service_url, "a", **fields)  # type: ignore[arg-type]  # names of fields
    return [each.code for each in client_rules.configuration(one)]


def test_credentials_without_tls_are_a_warning_except_on_this_machine() -> None:
    assert "plain-text-secret" in configured("http://pulsar:8080", "pulsar://pulsar:6650", has_secret=True)
    assert "plain-text-secret" not in configured("http://localhost:8080", "pulsar://[::1]:6650", has_secret=True)
    assert "plain-text-secret" not in configured("https://pulsar:8443", "pulsar+ssl://pulsar:6651", has_secret=True)


def test_a_client_that_accepts_any_certificate() -> None:
    accepting = {"accepts_any_certificate": True}
    assert "any-certificate" in configured("https://pulsar:8443", "pulsar+ssl://pulsar:6651", **accepting)
    assert "any-certificate" not in configured("http://pulsar:8080", "pulsar://pulsar:6650", **accepting)


def test_the_worst_finding_counts() -> None:
    ok, warning, problem = (Finding(str(each), each, "It is so.") for each in reversed(Severity))
    assert area.worst([Area("a", (ok,)), Area("b", ())]) is Severity.OK
    assert area.worst([Area("a", (ok, warning)), Area("b", (ok,))]) is Severity.WARNING
    assert area.worst([Area("a", (warning,)), Area("b", (ok, problem))]) is Severity.PROBLEM
    assert area.summary([Area("a", (warning, warning)), Area("b", (problem,))]) == "1 problem, 2 warnings"


def test_a_namespace_that_one_address_does_not_know_is_a_sign_of_two_clusters() -> None:
    sentence = broker_rules.cluster("one:6650", "").sentence
    assert sentence.endswith("names one:6650, and the broker does not know its namespace.")
    assert broker_rules.cluster("one:6650", "one:6650").severity is Severity.OK
