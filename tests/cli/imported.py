"""The modules that a command has imported by its end."""

import subprocess
import sys


def imported_by(arguments: list[str]) -> set[str]:
    """The full names of the modules."""
    script = (
        "import sys, atexit\n"
        "atexit.register(lambda: sys.stderr.write('\\nMODULES ' + ' '.join(sys.modules)))\n"
        f"sys.argv = ['pulsarctl', *{arguments!r}]\n"
        "from pulsarctl.main import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    return set(done.stderr.rpartition("MODULES ")[2].split())


def roots(modules: set[str]) -> set[str]:
    """Top-level names. `broker_core` itself contains only the version and does not count."""
    return {name.partition(".")[0] for name in modules - {"broker_core"}}
