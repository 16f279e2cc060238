"""Generates the modules `broker_core/wire/*_pb2.py` and their stubs from the files in `proto/` (`make proto`).

Two things differ from a plain run of the compiler. Each descriptor gets a unique file name, because the descriptor pool
of a process refuses a second file with the same name, and the official client may bring one. The check that the runtime
is at least as new as the compiler is removed: the modules build their classes from serialized descriptors, which works
the same way in every runtime since 4.25.
"""

import re
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import grpc_tools
from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "proto"
TARGET = ROOT / "broker_core" / "wire"
PACKAGE = "pulsarctl/wire"
NAMES = ("pulsar_api", "pulsar_markers")
MODULE, STUB = "_pb2.py", "_pb2.pyi"
GENERATORS = ("grpcio-tools", "mypy-protobuf")

RUNTIME_CHECK = re.compile(
    r"from google\.protobuf import runtime_version as _runtime_version\n"
    r"|_runtime_version\.ValidateProtobufRuntimeVersion\(.*?\)\n"
    r"|# Protobuf Python Version: .*?\n",
    re.DOTALL,
)


def generator_versions() -> str:
    """The versions that generate the output. Other versions may write the same descriptor differently."""
    return ", ".join(f"{name} {version(name)}" for name in GENERATORS)


def generate() -> dict[str, str]:
    """The texts of the modules and their stubs, by file name. Raises `RuntimeError` if the compiler fails."""
    found: dict[str, str] = {}
    for name in NAMES:
        found |= _generate(name)
    return found


def _generate(name: str) -> dict[str, str]:
    descriptor = f"{PACKAGE}/{name}.proto"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / descriptor
        source.parent.mkdir(parents=True)
        source.write_bytes((SOURCE / source.name).read_bytes())
        plugin = Path(sys.executable).parent / "protoc-gen-mypy"
        arguments = [
            "protoc",
            f"-I{folder}",
            f"-I{Path(grpc_tools.__file__).parent / '_proto'}",
            f"--plugin=protoc-gen-mypy={plugin}",
            f"--python_out={folder}",
            f"--mypy_out=quiet:{folder}",
            descriptor,
        ]
        if protoc.main(arguments) != 0:
            raise RuntimeError(f"cannot compile {source.name}: protoc failed")
        module, stub = (source.with_name(name + suffix).read_text() for suffix in (MODULE, STUB))
    header = f"# Written by proto/generate.py with {generator_versions()}.\n"
    return {name + MODULE: header + RUNTIME_CHECK.sub("", module), name + STUB: header + stub}


def main() -> None:
    for name, text in generate().items():
        (TARGET / name).write_text(text)


if __name__ == "__main__":
    main()
