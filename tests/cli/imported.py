"""The modules that a command has imported by its end."""

import subprocess
import sys


def imported_by(arguments: list[str]) -> set[str]:
    """The full names of the modules."""
    # A command that has used the native client ends with os._exit, which runs nothing that is registered.
    script = (
        "import sys, os, atexit\n"
        "def list_modules(*_): os.write(2, ('\\nMODULES ' + ' '.join(sys.modules)).encode())\n"
        "def end(code, end=os._exit): list_modules(); end(code)\n"
        "os._exit = end\n"
        "atexit.register(list_modules)\n"
        f"sys.argv = ['pulsarctl', *{arguments!r}]\n"
        "from pulsarctl.main import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    return set(done.stderr.rpartition("MODULES ")[2].split())


def roots(modules: set[str]) -> set[str]:
    """Top-level names. `broker_core` itself contains only the version and does not count."""
    return {name.partition(".")[0] for name in modules - {"broker_core"}}
