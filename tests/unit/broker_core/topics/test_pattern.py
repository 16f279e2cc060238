"""Patterns select topics as in Pulsar, in time proportional to the length of the name."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.topics.pattern import InvalidPattern, TopicPattern

PREFIX = "persistent://public/default/"


@pytest.mark.parametrize(
    ("pattern", "topic", "wanted"),
    [
        ("public/default/a.*", PREFIX + "abc", True),
        ("persistent://public/default/a.*", PREFIX + "abc", True),
        ("persistent://public/default/a.*", "non-persistent://public/default/abc", True),
        ("public/default/a", PREFIX + "ab", False),
        ("public/default/t", PREFIX + "t-partition-3", True),
        ("public/default/t-partition-3", PREFIX + "t-partition-3", False),
        (r"public/default/\d+-(x|y)?", PREFIX + "12-x", True),
        (".*", PREFIX + "é", True),
        (r"\Qpublic/default/a.b\E", PREFIX + "a.b", True),
        (r"\Qpublic/default/a.b\E", PREFIX + "aXb", False),
    ],
)
def test_a_pattern_is_matched_against_the_whole_name_without_scheme_and_partition(
    pattern: str, topic: str, wanted: bool
) -> None:
    assert TopicPattern(pattern).matches(topic) is wanted


def test_a_pattern_that_backtracks_in_other_libraries_is_fast() -> None:
    pattern = TopicPattern("public/default/(a+)+x")
    started = time.perf_counter()
    assert not pattern.matches(PREFIX + "a" * 2000)
    assert time.perf_counter() - started < 0.5


@pytest.mark.parametrize("text", ["(?=x)", r"(a)\1", "a++", "(", "((x{99}){99}){99}"])
def test_unsupported_syntax_is_an_invalid_pattern(text: str) -> None:
    with pytest.raises(InvalidPattern, match=r".+"):
        TopicPattern(text)


_PIECES = st.sampled_from(["a", "b", ".", "a*", "b+", "[ab]", "(a|b)", "b?", "-"])


@given(st.lists(_PIECES, max_size=6).map("".join), st.text("ab-", min_size=1, max_size=6))
def test_simple_patterns_mean_what_they_mean_to_python(pattern: str, local: str) -> None:
    wanted = re.fullmatch(f"public/default/{pattern}", f"public/default/{local}") is not None
    assert TopicPattern(f"public/default/{pattern}").matches(PREFIX + local) is wanted
