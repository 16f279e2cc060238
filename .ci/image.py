"""Builds the root filesystem of the container image in build/image, without a container runtime.

image/Containerfile is what a runtime builds. This program puts the same files at the same paths: the wheels, and
image/pulsar. The base is this machine's Python, and the shell and libraries that it needs, instead of python:3.13-slim.

`python .ci/image.py [DIRECTORY]`; `start` starts it in a namespace of this machine.
"""

import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "build" / "image"
PROGRAMS = ("bash", "cat", "env", "ls", "sleep")
UNUSED = (
    "test",
    "idlelib",
    "tkinter",
    "turtledemo",
    "ensurepip",
    "lib2to3",
    "site-packages",
    "config-*",
    "_tkinter*",
    "__pycache__",
)


def instructions(name: str) -> list[str]:
    """The arguments of an instruction in the last stage of the Containerfile."""
    text = (ROOT / "image" / "Containerfile").read_text("utf-8")
    last_stage = text.rpartition("\nFROM ")[2].replace("\\\n", " ")
    return re.findall(rf"^{name} (.*)$", last_stage, re.MULTILINE)


USER = int(instructions("USER")[-1])
# The variables of the base image and of the user, and those that the Containerfile sets.
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/pulsar"} | dict(
    word.split("=", 1) for line in instructions("ENV") for word in shlex.split(line)
)
# Binds a data directory over the read-only root, and enters it as the user of the image.
ENTER = """
set -e
mount --bind "$0" "$0"
mount --bind "$1" "$0/pulsar/data"
mount --bind "$2" "$0/pulsar/conf"
mount --rbind /dev "$0/dev"
mount --rbind /proc "$0/proc"
mount -t tmpfs tmpfs "$0/tmp"
mount -o remount,bind,ro "$0"
cd "$0/pulsar"
exec unshare --user --map-user=USER --map-group=0 --root="$0" --wd=/pulsar "${@:3}"
""".replace("USER", str(USER))


def main() -> None:
    target = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else TARGET
    build(target)
    size = sum(file.stat().st_size for file in target.rglob("*") if file.is_file() and not file.is_symlink())
    print(f"image: {target} has {size / 1e6:.0f} MB")


def build(target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    for name in ("bin", "etc", "dev", "proc", "tmp", "usr/bin", "usr/local/bin", "pulsar/data"):
        (target / name).mkdir(parents=True)
    (target / "etc/passwd").write_text(f"root:x:0:0::/:/bin/bash\npulsar:x:{USER}:0::/pulsar:/bin/bash\n")
    (target / "etc/hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")
    install_python(target)
    install_wheels(target)
    shutil.copytree(ROOT / "image" / "pulsar", target / "pulsar", dirs_exist_ok=True)
    for name in ("pulsar", "pulsar-admin"):
        (target / "pulsar/bin" / name).symlink_to("/usr/local/bin/pulsarctl")
    for name in PROGRAMS:
        shutil.copy(str(shutil.which(name)), target / "bin" / name)
    (target / "bin/sh").symlink_to("bash")
    (target / "usr/bin/env").symlink_to("/bin/env")
    install_libraries(target)


def install_python(target: Path) -> None:
    library = Path(sysconfig.get_path("stdlib"))
    base = target / "usr/local"
    shutil.copytree(library, base / "lib" / library.name, ignore=shutil.ignore_patterns(*UNUSED), symlinks=True)
    shutil.copy(Path(sys.executable).resolve(), base / "bin/python3")
    subprocess.run([sys.executable, "-m", "compileall", "-q", "-s", str(target), str(base / "lib")], check=True)


def install_wheels(target: Path) -> None:
    """One layer of wheels: no compiler runs."""
    site = target / "usr/local/lib" / Path(sysconfig.get_path("stdlib")).name / "site-packages"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, "--only-binary=:all:", "--target", str(site), str(ROOT)], check=True)
    script = "#!/usr/local/bin/python3\nimport sys\nfrom pulsarctl.main import main\n\nsys.exit(main())\n"
    program = target / "usr/local/bin/pulsarctl"
    program.write_text(script)
    program.chmod(0o755)


def install_libraries(target: Path) -> None:
    """The shared libraries of every program and extension module, where the loader looks without a cache."""
    programs = [*(target / "bin").iterdir(), target / "usr/local/bin/python3", *target.rglob("*.so")]
    own = needed(program for program in programs if not program.is_symlink())
    for name, path in sorted(own.items()):
        if path.startswith(str(target)):  # a wheel brings it
            continue
        place = target / (path.lstrip("/") if name.startswith("/") else f"lib/x86_64-linux-gnu/{name}")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)


def needed(programs: Iterable[Path]) -> Mapping[str, str]:
    """The name that a program looks for, and where it is; the loader's name is its path."""
    listing = subprocess.run(
        [str(shutil.which("ldd")), *map(str, programs)], check=False, capture_output=True, text=True
    ).stdout
    named = dict(re.findall(r"^\s+(\S+) => (/\S+) \(", listing, re.MULTILINE))
    loaders = {path: path for path in re.findall(r"^\s+(/\S*ld-linux\S*) \(", listing, re.MULTILINE)}
    return named | loaders


def start(root: Path, data: Path, conf: Path, command: list[str], environment: Mapping[str, str]) -> list[str]:
    """The command line that runs `command` in the image: a read-only root, two writable directories, and its user."""
    variables = [f"{name}={value}" for name, value in (ENVIRONMENT | dict(environment)).items()]
    inside = ["/bin/env", "-i", *variables, *command]
    return [
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "bash",
        "-c",
        ENTER,
        str(root),
        str(data),
        str(conf),
        *inside,
    ]


if __name__ == "__main__":
    main()
