"""Generates `broker_core/wire/pulsar_api_pb2.py` and its stub from `proto/pulsar_api.proto` (`make proto`).

Two things differ from a plain run of the compiler. The descriptor gets a unique file name, because the descriptor pool
of a process refuses a second file with the same name, and the official client may bring one. The check that the runtime
is at least as new as the compiler is removed: the module builds its classes from the serialized descriptor, which works
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
SOURCE = ROOT / "proto" / "pulsar_api.proto"
TARGET = ROOT / "broker_core" / "wire"
DESCRIPTOR_NAME = "pulsarctl/wire/pulsar_api.proto"
MODULE, STUB = "pulsar_api_pb2.py", "pulsar_api_pb2.pyi"
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
    """Maps the file names of the module and its stub to their text. Raises `RuntimeError` if the compiler fails."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / DESCRIPTOR_NAME
        source.parent.mkdir(parents=True)
        source.write_bytes(SOURCE.read_bytes())
        plugin = Path(sys.executable).parent / "protoc-gen-mypy"
        arguments = [
            "protoc",
            f"-I{folder}",
            f"-I{Path(grpc_tools.__file__).parent / '_proto'}",
            f"--plugin=protoc-gen-mypy={plugin}",
            f"--python_out={folder}",
            f"--mypy_out=quiet:{folder}",
            DESCRIPTOR_NAME,
        ]
        if protoc.main(arguments) != 0:
            raise RuntimeError(f"cannot compile {SOURCE}: protoc failed")
        module, stub = (source.with_name(name).read_text() for name in (MODULE, STUB))
    header = f"# Written by proto/generate.py with {generator_versions()}.\n"
    return {MODULE: header + RUNTIME_CHECK.sub("", module), STUB: header + stub}


def main() -> None:
    for name, text in generate().items():
        (TARGET / name).write_text(text)


if __name__ == "__main__":
    main()
