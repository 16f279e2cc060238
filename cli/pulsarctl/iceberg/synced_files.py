"""Local files of tables that survive a power cut: they are on disk before the catalog names them."""

import io
import os
from pathlib import Path

from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO

from pulsarctl.output.whole_file import make_directory, sync_directory


class SyncedFileIO(PyArrowFileIO):
    def new_output(self, location: str) -> PyArrowFile:
        output = super().new_output(location)
        if self.parse_location(location)[0] != "file":
            return output
        return _SyncedFile(location, output._path, output._filesystem)


class _SyncedFile(PyArrowFile):
    def create(self, overwrite: bool = False) -> "_SyncedStream":
        path = Path(self._path)
        make_directory(path.parent)
        return _SyncedStream(path, "w" if overwrite else "x")


class _SyncedStream(io.BufferedWriter):
    def __init__(self, path: Path, mode: str) -> None:
        super().__init__(io.FileIO(path, mode))
        self._folder = path.parent

    def close(self) -> None:
        if self.closed:
            return
        try:
            self.flush()
            os.fsync(self.fileno())
        finally:
            super().close()
        sync_directory(self._folder)
