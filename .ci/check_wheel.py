"""Builds the wheel, installs it into a clean environment, and checks the result.

`pulsarctl --version` must run with the base dependencies alone. The wheel must install exactly two top-level packages,
so that it does not clash with other projects.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parent.parent
TOP_LEVEL = {"broker_core", "pulsarctl"}


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="pulsarctl-wheel-") as scratch:
        wheel = build(Path(scratch))
        names = top_level_names(wheel)
        if names != TOP_LEVEL:
            print(f"wheel: installs {sorted(names)}, expected {sorted(TOP_LEVEL)}", file=sys.stderr)
            return 1
        version = installed_version(wheel, Path(scratch) / "clean")
    print(f"wheel: {wheel.name} installs cleanly and prints: {version}")
    return 0


def build(scratch: Path) -> Path:
    run(sys.executable, "-m", "build", "--wheel", "--outdir", str(scratch), str(ROOT))
    [wheel] = scratch.glob("*.whl")
    return wheel


def top_level_names(wheel: Path) -> set[str]:
    with ZipFile(wheel) as archive:
        return {name.split("/")[0] for name in archive.namelist() if ".dist-info/" not in name}


def installed_version(wheel: Path, home: Path) -> str:
    venv.create(home, with_pip=True)
    run(str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--only-binary=:all:", str(wheel))
    return run(str(home / "bin" / "pulsarctl"), "--version").strip()


def run(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"wheel: cannot run {' '.join(command)}:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
