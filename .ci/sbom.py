"""Writes the bill of materials of the wheel (CycloneDX): what `pip install pulsarctl[security]` brings along.

`sbom.py WHEEL`: installs the wheel into a clean environment and describes it next to the wheel, as NAME.cdx.json. The
generator (`pip install 'pulsarctl[dev]'`) runs in the environment of this program and looks into the other one.
"""

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OURS = "pulsarctl"
NOT_OURS = ("pip", "setuptools", "wheel")  # of the environment


def main(wheel: Path) -> int:
    target = wheel.with_suffix(".cdx.json")
    with tempfile.TemporaryDirectory(prefix="pulsarctl-sbom-") as scratch:
        python = Path(scratch) / "bin" / "python"
        venv.create(scratch, with_pip=True)
        pip = (str(python), "-m", "pip", "--quiet", "--disable-pip-version-check")
        run(*pip, "install", "--only-binary=:all:", f"{wheel}[security]")
        run(*pip, "uninstall", "--yes", *NOT_OURS)
        generator = (sys.executable, "-m", "cyclonedx_py", "environment", str(python))
        run(*generator, "--pyproject", str(ROOT / "pyproject.toml"), "--output-reproducible", "-o", str(target))
    document = json.loads(target.read_text())
    count = check(document)
    document["metadata"]["component"]["version"] = wheel.name.split("-")[1]  # not in pyproject.toml
    target.write_text(json.dumps(document, indent=2) + "\n")
    print(f"sbom: {target}: {count} components")
    return 0


def check(document: dict[str, Any]) -> int:
    """The number of components; exits unless they are those of the wheel."""
    names = {one["name"] for one in document["components"]}
    missing = {"aiohttp", "protobuf", "cryptography"} - names
    if missing or not names.isdisjoint(NOT_OURS):
        raise SystemExit(f"sbom: not the environment of the wheel: it has {', '.join(sorted(names)) or 'nothing'}")
    return len(names - {OURS})


def run(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"sbom: cannot run {' '.join(command)}:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
