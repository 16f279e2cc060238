"""Checks the files of an export: all there, as long and as many rows as the manifest says, and readable."""

from pathlib import Path

import pyarrow as pa

from pulsarctl.errors import CliError, NotFound
from pulsarctl.integrity.findings import Findings
from pulsarctl.transfer import manifest
from pulsarctl.transfer.file_formats import FileFormat, read_rows
from pulsarctl.transfer.manifest import Manifest
from pulsarctl.transfer.part_files import By, FileFacts


def check_export(directory: Path) -> Findings:
    """Raises `NotFound` without a complete export, and `CliError` if its manifest cannot be read."""
    found = manifest.load(directory)
    if found is None:
        raise NotFound(f"{directory} has no complete export: {manifest.NAME} is missing")
    findings = Findings()
    for facts in found.files:
        _check_file(directory, found, facts, findings)
    if found.by == By.KEY:  # files by key are not in the order of the partition
        for sequence in findings.sequences.values():
            sequence.late = 0
    return findings


def _check_file(directory: Path, of: Manifest, facts: FileFacts, findings: Findings) -> None:
    path = directory / facts.path
    if not path.is_file():
        findings.missing.append(f"{facts.path} is missing")
        return
    size, before = path.stat().st_size, findings.messages
    findings.bytes += size
    if size != facts.bytes:
        findings.damaged.append(f"{facts.path} has {size} bytes instead of {facts.bytes}")
    try:
        for batch in read_rows(path, FileFormat(of.format)):
            findings.add_rows(batch)
    except (OSError, ValueError, EOFError, pa.ArrowException, CliError) as error:
        findings.damaged.append(f"{facts.path} cannot be read: {str(error).partition(chr(10))[0]}")
        return
    if (rows := findings.messages - before) != facts.rows:
        findings.damaged.append(f"{facts.path} has {rows} messages instead of {facts.rows}")
