"""Rows of a table in new files, which a commit then puts in the place of the old ones."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.table import FileScanTask, Table


def rewritten(table: "Table", tasks: "list[FileScanTask]", kept: "BooleanExpression") -> list[str]:
    """Uploads files with the rows that are `kept`: none for none. Raises what pyiceberg raises."""
    from pyiceberg.io.pyarrow import ArrowScan

    from pulsarctl.iceberg.day_files import DayFiles

    rows = ArrowScan(table.metadata, table.io, table.schema(), kept).to_table(tasks)
    with TemporaryDirectory(prefix="pulsarctl-lake-") as scratch:
        files = DayFiles(Path(scratch), rows.schema)
        for batch in rows.to_batches():
            files.write(batch)
        return [_uploaded(table, file) for file in files.close()]


def _uploaded(table: "Table", file: Path) -> str:
    target = f"{table.location()}/data/{uuid4().hex}/{file.name}"
    with file.open("rb") as source, table.io.new_output(target).create() as output:
        shutil.copyfileobj(source, output, 1 << 20)
    return target
