"""Runs `pulsarctl` in this process, without the developer's settings."""

from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from pulsarctl.shell.root import application


@dataclass(frozen=True, slots=True)
class Outcome:
    exit_code: int
    stdout: str
    stderr: str


class Cli:
    """`cli("tenants", "list")`; `home` is an empty directory, and the URLs are optional."""

    def __init__(self, home: Path, web_url: str | None = None, service_url: str | None = None) -> None:
        self.environ = {"HOME": str(home), "PULSARCTL_ADMIN_URL": web_url, "PULSARCTL_SERVICE_URL": service_url}
        self.environ |= dict.fromkeys(("PULSAR_CLIENT_CONF", "PULSARCTL_CONTEXT", "PULSARCONFIG", "PULSARCTL_OUTPUT"))

    def __call__(self, *words: str, stdin: str | bytes | None = None) -> Outcome:
        """Raises an exception that the program did not turn into an exit code."""
        result = CliRunner().invoke(application(), list(words), input=stdin, env=self.environ)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Outcome(result.exit_code, result.stdout, result.stderr)
