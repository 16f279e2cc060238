"""Checks the files of an export: all there, with the bytes and rows that the manifest says, and readable."""

from pathlib import Path

import pyarrow as pa

from pulsarctl.errors import CliError, NotFound
from pulsarctl.integrity.findings import Findings
from pulsarctl.transfer import manifest
from pulsarctl.transfer.file_formats import FileFormat, read_rows
from pulsarctl.transfer.manifest import Manifest
from pulsarctl.transfer.part_files import By, FileFacts
from pulsarctl.transfer.places import Place, sum_of


def check_export(place: Place) -> Findings:
    """Raises `NotFound` without a complete export, and `CliError` if its manifest or the place cannot be read."""
    found = manifest.load(place)
    if found is None:
        raise NotFound(f"{place.describe()} has no complete export: {manifest.NAME} is missing")
    findings = Findings()
    for facts in found.files:
        _check_file(place, found, facts, findings)
    if found.by == By.KEY:  # files by key are not in the order of the partition
        for sequence in findings.sequences.values():
            sequence.late = 0
    return findings


def _check_file(place: Place, of: Manifest, facts: FileFacts, findings: Findings) -> None:
    before = findings.messages
    try:
        with place.fetch(facts.path) as path:
            _check_content(path, facts, findings)
            for batch in read_rows(path, FileFormat(of.format)):
                findings.add_rows(batch)
    except FileNotFoundError:
        findings.missing.append(f"{facts.path} is missing")
        return
    except (OSError, ValueError, EOFError, pa.ArrowException, CliError) as error:
        findings.damaged.append(f"{facts.path} cannot be read: {str(error).partition(chr(10))[0]}")
        return
    if (rows := findings.messages - before) != facts.rows:
        findings.damaged.append(f"{facts.path} has {rows} messages instead of {facts.rows}")


def _check_content(path: Path, facts: FileFacts, findings: Findings) -> None:
    with open(path, "rb") as file:
        found = sum_of(file)
    findings.bytes += found.bytes
    if found.bytes != facts.bytes:
        findings.damaged.append(f"{facts.path} has {found.bytes} bytes instead of {facts.bytes}")
    elif facts.crc32c not in (None, found.crc32c):
        findings.damaged.append(f"{facts.path} is not what was exported: its checksum differs")
