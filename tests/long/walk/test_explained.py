"""Reasons explain the differences that they name, and docs/reference/compatibility.md lists all of them."""

import json
from pathlib import Path

from tests.long.walk import page
from tests.long.walk.comparison import compare
from tests.long.walk.explained import Between, reasons
from tests.long.walk.lines import Line
from tests.long.walk.summary import FILE
from tests.long.walk.walking import Pair
from tests.support.runner import Outcome

SAME = Pair(Outcome(0, "4.0.7\n", ""), Outcome(0, "4.0.7\n", ""))
MISSING = "Tenant does not exist"
BY_ADMIN = Outcome(1, "", f"{MISSING}\n\nReason: {MISSING}\n")
BY_OURS = Outcome(3, "", f"error: {MISSING} (404 for GET http://localhost:1/admin/v2/tenants/t, URL from X)\n")


def line(text: str) -> Line:
    return Line("part", 1, text, prepares=False)


def test_the_page_of_differences_is_up_to_date() -> None:
    assert page.PLACE.search(page.PAGE.read_text("utf-8")), "the page has no place for the differences"
    assert page.section() in Path(page.PAGE).read_text("utf-8"), "run `make docs`"


def test_the_last_walk_left_no_difference_without_a_reason() -> None:
    summary = json.loads(FILE.read_text("utf-8"))
    certain = {reason.name for reason in reasons() if not reason.sometimes}
    assert certain <= set(summary["reasons"]) <= {reason.name for reason in reasons()}
    assert (summary["unexplained"], summary["lines"] >= 400) == (0, True)


def test_both_tools_may_word_a_refusal_in_their_own_way() -> None:
    compared = compare(line("tenants get t"), Pair(BY_ADMIN, BY_ADMIN), Pair(BY_OURS, BY_OURS))
    assert compared.is_equal


def test_a_difference_without_a_reason_is_found_in_both_directions() -> None:
    other = Pair(SAME.pulsar, Outcome(0, "5\n", ""))
    compared = compare(line("tenants list"), SAME, other)
    assert [each.between for each in compared.unexplained] == [Between.BROKERS_BY_PULSARCTL, Between.TOOLS_HERE]


def test_a_reason_for_one_line_explains_no_other() -> None:
    other = Pair(SAME.pulsar, Outcome(0, "0.1.0\n", ""))
    assert compare(line("brokers version"), other, other).unexplained == []
    assert compare(line("tenants list"), other, other).unexplained != []


def test_times_ids_and_addresses_are_no_differences() -> None:
    shown = '{{"ledgerId" : {}, "publishTime" : {}, "brokerUrl" : "http://localhost:{}"}}\n'
    one, other = (Outcome(0, shown.format(*values), "") for values in ((5, 1795353866984, 1), (9, 1795353866985, 2)))
    assert compare(line("topics lookup t"), Pair(one, other), Pair(one, other)).is_equal
