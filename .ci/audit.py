"""Looks for known vulnerabilities of the installed dependencies with pip-audit (`pip install 'pulsarctl[dev]'`).

An index without advisories makes pip-audit skip everything and report success; then this program fails and says so.
"""

import json
import subprocess
import sys

NONE_CHECKED = 3  # exit code


def main() -> int:
    command = (sys.executable, "-m", "pip_audit", "--format", "json", "--skip-editable", "--progress-spinner", "off")
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        dependencies = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        print(done.stderr or done.stdout, file=sys.stderr)
        return done.returncode or 1
    checked = [one for one in dependencies if "vulns" in one]
    vulnerable = [one for one in checked if one["vulns"]]
    for one in vulnerable:
        print(f"{one['name']} {one['version']}: {', '.join(found['id'] for found in one['vulns'])}")
    print(f"audit: {len(checked)} of {len(dependencies)} dependencies checked, {len(vulnerable)} with vulnerabilities")
    if not checked:
        print(
            "audit: nothing checked: the package index has no advisories; use pypi.org",
            file=sys.stderr,
        )
        return NONE_CHECKED
    return 1 if vulnerable else 0


if __name__ == "__main__":
    sys.exit(main())
