"""A report as one HTML page that needs nothing else: inline SVG and CSS, light and dark, and the numbers as JSON."""

import json
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from pulsarctl.backlog import documents
from pulsarctl.backlog.plots import plots
from pulsarctl.backlog.report import Report, SubscriptionBacklog
from pulsarctl.backlog.tally import LargeMessage
from pulsarctl.backlog.terminal import age
from pulsarctl.values.quantities import human_size
from pulsarctl.values.times import utc

_CELLS = ("Subscription", "Messages", "Size", "Oldest", "In/s", "Out/s", "Empty in", "Verdict")


def page(report: Report, command: str) -> str:
    """`command` is the command line that made the report."""
    return "".join(_parts(report, command))


def _parts(report: Report, command: str) -> Iterator[str]:
    css = Path(__file__).with_name("page.css").read_text()
    title = f"Backlog of {report.target}"
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(title)}</title><style>{css}</style></head><body>"
    yield f"<h1>{escape(title)}</h1>"
    yield f"<p>{escape(report.cluster)}, {utc(report.moment.now_ms)}, {escape(_exactness(report))}<br>"
    yield f"<code>{escape(command)}</code></p>"
    yield _summary(report)
    for number, backlog in enumerate(report.subscriptions):
        if backlog.tally.messages:
            yield from _section(report, number, backlog)
    subscriptions = [documents.subscription(report, backlog) for backlog in report.subscriptions]
    data = json.dumps(documents.header(report) | {"subscriptions": subscriptions}).replace("<", "\\u003c")
    yield f'<script type="application/json" id="report">{data}</script></body></html>\n'


def _exactness(report: Report) -> str:
    if report.exact_per == "message":
        return "exact for each message"
    return "exact for each entry: a batch counts as a whole until all its messages are acknowledged"


def _summary(report: Report) -> str:
    rows = [_summary_row(report, number, backlog) for number, backlog in enumerate(report.subscriptions)]
    return _table(_CELLS, rows)


def _summary_row(report: Report, number: int, backlog: SubscriptionBacklog) -> list[str]:
    tally, name = backlog.tally, f"{backlog.topic.removeprefix('persistent://')} · {backlog.subscription}"
    link = f'<a href="#s{number}">{escape(name)}</a>' if tally.messages else escape(name)
    oldest = None if tally.oldest_ms is None else (report.moment.now_ms - tally.oldest_ms) / 1000
    word = backlog.verdict.word
    return [
        link,
        f"{tally.messages:,}",
        human_size(tally.bytes),
        age(oldest),
        f"{backlog.live.rate_in:.1f}",
        f"{backlog.live.rate_out:.1f}",
        age(backlog.seconds_to_empty) if tally.messages else "-",
        f'<span class="verdict {word.replace(" ", "-")}">{escape(word)}</span>',
    ]


def _section(report: Report, number: int, backlog: SubscriptionBacklog) -> Iterator[str]:
    name = f"{backlog.topic.removeprefix('persistent://')} · {backlog.subscription}"
    yield f'<section id="s{number}"><h2>{escape(name)}</h2>'
    yield f"<p>{escape(backlog.verdict.word)}: {escape(backlog.verdict.reason)}</p>"
    yield _table(("Fact", "Value"), [[escape(label), escape(value)] for label, value in _facts(report, backlog)])
    yield f'<div class="plots">{"".join(plots(backlog))}</div>'
    if backlog.tally.largest:
        yield _table(
            ("Largest messages", "Size", "Producer", "Published"),
            [_large(message) for message in backlog.tally.largest],
        )
    yield "</section>"


def _facts(report: Report, backlog: SubscriptionBacklog) -> Iterator[tuple[str, str]]:
    tally, live, cursor = backlog.tally, backlog.live, backlog.cursor
    yield "Stored", f"{tally.entries:,} entries, {human_size(tally.bytes)}"
    yield "Consumers", f"{live.consumers} {live.type}".strip()
    yield "Delivered and not acknowledged", f"{live.unacked:,} messages"
    yield "Delayed", f"{tally.delayed_messages:,} messages, {human_size(tally.delayed_bytes)}"
    yield "Ack holes", f"{cursor.holes:,}, the largest of {cursor.largest_hole:,} entries"
    yield "Kept only for this subscription", f"{cursor.kept_ledgers:,} ledgers, {human_size(cursor.kept_bytes)}"
    if (trend := report.trend(backlog)) is not None:
        yield f"Since {utc(trend.since_ms)}", f"{trend.messages:+,} messages, {trend.bytes:+,} bytes"
    yield from _what_if(report, backlog)


def _what_if(report: Report, backlog: SubscriptionBacklog) -> Iterator[tuple[str, str]]:
    removals = documents.what_if(report, backlog)
    removing = [ttl for ttl in removals["ttl"] if ttl["messages"]]
    for ttl in [removals["chosenTtl"]] if "chosenTtl" in removals else removing:
        removed = f"{ttl['messages']:,} messages, {human_size(ttl['bytes'])}"
        yield f"A TTL of {age(ttl['seconds'])} would remove", removed
    if "quota" in removals:
        quota = removals["quota"]
        removed = f"{quota['messages']:,} messages, {human_size(quota['bytes'])}"
        yield f"A quota of {human_size(quota['limit'])} for each partition would evict", removed
    compaction = removals["compaction"]
    yield "Compaction would leave", f"{compaction['keys']:,} keys, and remove {compaction['removes']:,} messages"


def _large(message: LargeMessage) -> list[str]:
    index = f":{message.batch_index}" if message.batch_index >= 0 else ""
    place = f"{message.partition.removeprefix('persistent://')} {message.ledger_id}:{message.entry_id}{index}"
    return [escape(place), human_size(message.size), escape(message.producer), utc(message.publish_time_ms)]


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """`rows` are HTML; headings are text."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in heading)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
