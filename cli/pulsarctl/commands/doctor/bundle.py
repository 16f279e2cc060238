"""The files that `doctor bundle` collects. `errors.json` names the requests that the broker does not answer."""

import os
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from broker_core.names import path_part
from pulsarctl import __version__
from pulsarctl.commands.doctor import checkup as doctor
from pulsarctl.commands.doctor.archive import TEXT_CHARACTERS_MAX, Archive
from pulsarctl.commands.doctor.checkup import Scope
from pulsarctl.diagnosis.checkup import area
from pulsarctl.errors import CliError
from pulsarctl.facts import broker as broker_facts
from pulsarctl.facts import client as client_facts
from pulsarctl.facts import topic_checks as topic_facts
from pulsarctl.output.render import Progress
from pulsarctl.settings import contexts, shown
from pulsarctl.settings.settings import Settings, environment_variable
from pulsarctl.shell.call import Call
from pulsarctl.values.clock import now_ms
from pulsarctl.values.times import utc

PACKAGES = ("pulsar-client", "pyspark", "pyarrow", "protobuf", "typer", "rich")
VARIABLES = ("PULSAR", "JAVA_HOME", "SPARK_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "TERM", "LANG")
README = """What 'pulsarctl doctor bundle' collected on {time}. Secrets are masked as ***.

doctor.json   what doctor found
errors.json   what could not be collected
client/       settings with their sources, environment variables, contexts, versions
broker/       configuration, health, load, and metrics
clusters/ tenants/ namespaces/ topics/
              their documents, statistics, and internal statistics
logs/         the log files that --log named

It contains names of topics, subscriptions, roles, and hosts, and addresses of clients. It contains no messages.
"""

Part = Callable[[], Any]


def collect(call: Call, scope: Scope, logs: Sequence[Path]) -> Archive:
    """Raises `CliError` only for a log file that cannot be read."""
    call.wait_at_most(scope.timeout_seconds)
    time = utc(now_ms())[:19].replace(":", "")
    archive, errors, progress = Archive(f"pulsarctl-{time}"), dict[str, str](), Progress(quiet=call.settings.quiet)
    archive.add("README.txt", README.format(time=utc(now_ms())))
    _learn_settings(call, archive)
    for path in logs:
        archive.add(f"logs/{path.name}", _end_of(path))
    for name, part in _parts(call, scope):
        progress.show(name)
        try:
            archive.add(name, part())
        except (CliError, OSError) as error:
            errors[name] = str(error)
    progress.clear()
    archive.add("errors.json", errors)
    return archive


SECRET_FILES = ("token_file", "password_file", "key_file")  # fields of Settings


def _learn_settings(call: Call, archive: Archive) -> None:
    """The secrets that this machine knows, so that they are found under any name. Token files are not collected."""
    settings, file = call.settings, contexts.ContextFile(contexts.default_path(os.environ))
    stored = [file.fields(name) for name in file.names]
    archive.redactor.learn([{"token": settings.token, "auth_params": settings.auth_params}, stored])
    for path in filter(None, _secret_files(settings, stored)):
        with suppress(OSError):
            archive.redactor.learn({"token": Path(path).expanduser().read_text("utf-8", "replace").strip()})


def _secret_files(settings: Settings, stored: list[dict[str, Any]]) -> Iterator[str | None]:
    """Also those that other settings override."""
    for name in SECRET_FILES:
        yield getattr(settings, name)
        yield os.environ.get(environment_variable(name))
        yield from (fields.get(name) for fields in stored)


def _parts(call: Call, scope: Scope) -> Iterator[tuple[str, Part]]:
    yield from _client(call)
    yield "doctor.json", lambda: area.documents(doctor.areas(call, scope))
    yield from _broker(call)
    yield from _tenancy(call, scope)


def _client(call: Call) -> Iterator[tuple[str, Part]]:
    yield "client/settings.json", lambda: shown.rows(call.settings)
    yield "client/environment.json", lambda: {k: v for k, v in os.environ.items() if k.upper().startswith(VARIABLES)}
    yield "client/contexts.json", _contexts
    yield "client/versions.json", _versions


def _contexts() -> dict[str, Any]:
    file = contexts.ContextFile(contexts.default_path(os.environ))
    return {
        "file": str(file.path),
        "current": file.current,
        "contexts": {name: file.fields(name) for name in file.names},
    }


def _versions() -> dict[str, Any]:
    packages = {name: client_facts.version_of(name) for name in PACKAGES}
    return {"pulsarctl": __version__, "python": platform.python_version(), "system": platform.platform(), **packages}


def _broker(call: Call) -> Iterator[tuple[str, Part]]:
    brokers, http = call.admin.brokers, call.admin.http
    yield "broker/brokers.json", brokers.list
    yield "broker/version.json", lambda: {"version": brokers.version()}
    yield "broker/health.json", lambda: {"health": brokers.healthcheck()}
    yield "broker/configuration.json", brokers.runtime_configuration
    yield "broker/dynamic-configuration.json", brokers.dynamic_configuration
    yield "broker/internal-configuration.json", brokers.internal_configuration
    yield "broker/load-report.json", partial(http.get, "/admin/v2/broker-stats/load-report")
    yield "broker/damage.json", brokers.damage
    yield "broker/metrics.txt", lambda: broker_facts.metrics(call)


def _tenancy(call: Call, scope: Scope) -> Iterator[tuple[str, Part]]:
    admin = call.admin
    for name in _listed(admin.clusters.list):
        yield f"clusters/{_part(name)}.json", partial(admin.clusters.get, name)
    for name in _listed(admin.tenants.list):
        yield f"tenants/{_part(name)}.json", partial(admin.tenants.get, name)
    for name in scope.namespaces or _listed(lambda: topic_facts.namespaces(call)):
        yield f"namespaces/{'/'.join(map(_part, name.split('/')))}.json", partial(admin.namespaces.policies, name)
    for topic in _listed(lambda: topic_facts.names(call, scope.namespaces))[: scope.topics_max]:
        domain, _, rest = topic.partition("://")
        folder = f"topics/{domain}/" + "/".join(map(_part, rest.split("/", 2)))
        yield f"{folder}/stats.json", partial(admin.topics.stats, topic)
        if domain == "persistent":
            yield f"{folder}/internal-stats.json", partial(admin.topics.internal_stats, topic)


def _part(name: str) -> str:
    return path_part(quote(name, safe=""))


def _listed(names: Callable[[], list[str]]) -> list[str]:
    """None if the broker does not answer, which `doctor.json` says."""
    try:
        return names()
    except CliError:
        return []


def _end_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TEXT_CHARACTERS_MAX))
            return file.read().decode("utf-8", "replace")
    except OSError as error:
        raise CliError(f"cannot read the log {path}: {error.strerror}") from error
