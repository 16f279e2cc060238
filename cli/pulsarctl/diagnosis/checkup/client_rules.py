"""Rules for the needs of a client before it reaches a topic: settings, Java and Spark, certificates. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from pulsarctl.diagnosis.finding import Finding, Severity
from pulsarctl.diagnosis.words import age, command
from pulsarctl.values.times import utc

CERTIFICATE_WARNING_MS = 30 * 86_400_000
CERTIFICATE_PROBLEM_MS = 7 * 86_400_000
LOOPBACK = ("localhost", "127.0.0.1", "::1")
SHOW_SETTINGS = command("context", "show", "--resolved")


@dataclass(frozen=True, slots=True)
class Configuration:
    """`overrides`: notices of variables that hide a context. `exposed`: files with secrets that others can read."""

    web_url: str
    web_origin: str
    service_url: str
    service_origin: str
    overrides: tuple[str, ...] = ()
    exposed: tuple[str, ...] = ()
    has_secret: bool = False
    accepts_any_certificate: bool = False


@dataclass(frozen=True, slots=True)
class Runtimes:
    """None for what is not installed."""

    spark: str | None
    java: int | None
    java_home: str = ""


@dataclass(frozen=True, slots=True)
class Certificate:
    """`place`: whose it is. `failure`: why it cannot be read."""

    place: str
    not_after_ms: int = 0
    failure: str = ""


def configuration(settings: Configuration) -> Iterator[Finding]:
    yield Finding(
        "addresses",
        Severity.OK,
        f"The admin API is {settings.web_url} (from {settings.web_origin}), and the broker is {settings.service_url} "
        f"(from {settings.service_origin}).",
        SHOW_SETTINGS,
    )
    if settings.web_origin != settings.service_origin and _host(settings.web_url) != _host(settings.service_url):
        yield Finding(
            "two-clusters",
            Severity.WARNING,
            f"The addresses name two hosts, one from {settings.web_origin} and one from {settings.service_origin}: "
            "commands may reach two different clusters.",
            SHOW_SETTINGS,
        )
    for text in settings.overrides:
        yield Finding("overridden", Severity.WARNING, f"{text.removeprefix('notice: ')}.", SHOW_SETTINGS)
    for path in settings.exposed:
        yield Finding(
            "exposed-secret",
            Severity.WARNING,
            f"Other users can read {path}, which contains credentials.",
            f"chmod 600 {path}",
        )
    yield from _transport(settings)


def _transport(settings: Configuration) -> Iterator[Finding]:
    plain = [url for url in (settings.web_url, settings.service_url) if _is_plain(url) and _host(url) not in LOOPBACK]
    if settings.has_secret and plain:
        yield Finding(
            "plain-text-secret",
            Severity.WARNING,
            f"Credentials are sent to {' and '.join(plain)} without TLS.",
            SHOW_SETTINGS,
        )
    if settings.accepts_any_certificate and not all(map(_is_plain, (settings.web_url, settings.service_url))):
        yield Finding(
            "any-certificate",
            Severity.WARNING,
            "Any server certificate is accepted, so another server could pose as the broker.",
            SHOW_SETTINGS,
        )


def runtimes(installed: Runtimes) -> Iterator[Finding]:
    if installed.spark is None:
        yield Finding(
            "no-spark",
            Severity.OK,
            "Spark is not installed; only large jobs of 'pulsarctl ops' need it.",
            "pip install 'pulsarctl[spark]'",
        )
    elif installed.java is None:
        yield Finding(
            "no-java",
            Severity.WARNING,
            f"PySpark {installed.spark} is installed, but no Java that it can use.",
            "pip install 'pulsarctl[java]'",
        )
    else:
        yield Finding(
            "spark", Severity.OK, f"PySpark {installed.spark} runs on Java {installed.java} in {installed.java_home}."
        )


def certificate(state: Certificate, now_ms: int) -> Finding:
    look = command("context", "show", "--resolved")
    if state.failure:
        return Finding("certificate-unknown", Severity.WARNING, f"Cannot check {state.place}: {state.failure}.", look)
    left = state.not_after_ms - now_ms
    when = utc(state.not_after_ms)[:10]
    if left <= 0:
        return Finding("certificate-expired", Severity.PROBLEM, f"{_capital(state.place)} expired on {when}.", look)
    sentence = f"{_capital(state.place)} is valid until {when}, for {age(left)}."
    if left > CERTIFICATE_WARNING_MS:
        return Finding("certificate", Severity.OK, sentence)
    severity = Severity.PROBLEM if left <= CERTIFICATE_PROBLEM_MS else Severity.WARNING
    return Finding("certificate-expires", severity, sentence, look)


def no_certificates(urls: list[str]) -> Finding:
    return Finding("no-tls", Severity.OK, f"{' and '.join(urls)} use no TLS.")


def _host(url: str) -> str:
    return urlsplit(url.partition(",")[0]).hostname or ""


def _is_plain(url: str) -> bool:
    return url.partition("://")[0] in ("http", "pulsar")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
