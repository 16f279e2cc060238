"""This package as a zip file for the executors of a cluster, made from whatever is installed here.

PySpark puts zip files on the executors' path, wheels it does not. What the package needs there (pyarrow, protobuf, the
codecs) holds compiled code and must be installed on the executors.
"""

import zipfile
from pathlib import Path

import pulsarctl
from broker_core import wire

SUFFIXES = (".py", ".properties")


def write_archive(directory: Path | str) -> Path:
    """Returns the path of the zip file in the directory, which must exist."""
    archive = Path(directory) / "pulsarctl.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        for root in (Path(pulsarctl.__path__[0]), Path(wire.__path__[0]).parent):
            for file in sorted(root.rglob("*")):
                if file.suffix in SUFFIXES:
                    zipped.write(file, Path(root.name) / file.relative_to(root))
    return archive
