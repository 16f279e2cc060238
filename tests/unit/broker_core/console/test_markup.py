"""Markup escapes everything that is not markup already."""

import pytest

from broker_core.console.markup import address, link, markup, table, tag

HOSTILE = "<script>alert(1)</script>\"'&"


def test_a_child_is_escaped() -> None:
    assert tag("p", HOSTILE) == "<p>&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#x27;&amp;</p>"


def test_an_attribute_is_escaped() -> None:
    assert tag("a", title='"><img src=x>') == '<a title="&quot;&gt;&lt;img src=x&gt;"></a>'


def test_bytes_are_escaped_like_text() -> None:
    assert "<script>" not in tag("p", b"<script>")


def test_markup_inside_lists_is_kept_and_text_inside_them_is_escaped() -> None:
    assert markup([tag("b", "x"), ["<"], None]) == "<b>x</b>&lt;"


@pytest.mark.parametrize("letter", ["\x00", "\x1b", "\x7f", "\u202e", "\u2066", "\ud800"])
def test_an_invisible_character_is_spelled_out(letter: str) -> None:
    assert tag("p", f"a{letter}b") == f"<p>a\\u{ord(letter):04x}b</p>"


def test_an_address_encodes_its_parameters() -> None:
    assert address("/console/topic", name="a/b&c=d e", empty="") == "/console/topic?name=a%2Fb%26c%3Dd+e"


def test_a_link_escapes_its_address() -> None:
    assert link('/x?"onclick="', "y") == '<a href="/x?&quot;onclick=&quot;">y</a>'


def test_a_table_has_a_caption_and_headings_of_columns_and_rows() -> None:
    made = table("Things", ["Name", "#Size"], [["a", "1"]])
    assert "<caption>Things</caption>" in made
    assert '<th scope="col">Name</th><th scope="col" class="number">Size</th>' in made
    assert '<tr><th scope="row">a</th><td class="number">1</td></tr>' in made
