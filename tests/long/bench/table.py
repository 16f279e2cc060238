"""Aligned columns of text: numbers to the right, words to the left."""

from collections.abc import Sequence


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]
    numeric = [all(is_number(row[index]) for row in rows) for index in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        columns = zip(cells, widths, numeric, strict=True)
        return "  ".join(cell.rjust(w) if right else cell.ljust(w) for cell, w, right in columns).rstrip()

    return "\n".join([line(header), "  ".join("-" * width for width in widths), *map(line, rows)])


def is_number(cell: str) -> bool:
    return not cell.strip("0123456789,.-/ ")
