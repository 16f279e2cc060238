"""A result as one HTML page that needs nothing else, light and dark."""

from collections.abc import Iterator
from html import escape

import pyarrow as pa

from pulsarctl.sql.printed import text_rows

_CSS = (
    ":root{color-scheme:light dark}body{font:14px/1.4 system-ui,sans-serif;margin:2rem}"
    "pre{background:#8882;padding:.8rem;overflow:auto}table{border-collapse:collapse}"
    "th,td{border:1px solid #8886;padding:.25rem .6rem;text-align:left;vertical-align:top}"
    "th{position:sticky;top:0;background:Canvas}td.number{text-align:right}td.null{opacity:.5}"
)


def page(table: pa.Table, query: str, cluster: str) -> Iterator[str]:
    """`query` is shown above the rows. In pieces, because a result may be long."""
    numbers = [pa.types.is_integer(f.type) or pa.types.is_floating(f.type) for f in table.schema]
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>Query of {escape(cluster)}</title><style>{_CSS}</style></head><body>"
    yield f"<h1>{table.num_rows:,} rows</h1><p>{escape(cluster)}</p><pre>{escape(query.strip())}</pre>"
    yield "<table><thead><tr>"
    yield "".join(f"<th>{escape(name)}</th>" for name in table.column_names) + "</tr></thead><tbody>\n"
    for row in text_rows(table):
        cells = (_cell(text, is_number) for text, is_number in zip(row, numbers, strict=True))
        yield f"<tr>{''.join(cells)}</tr>\n"
    yield "</tbody></table></body></html>\n"


def _cell(text: str | None, is_number: bool) -> str:
    if text is None:
        return '<td class="null">NULL</td>'
    return f'<td class="number">{escape(text)}</td>' if is_number else f"<td>{escape(text)}</td>"
