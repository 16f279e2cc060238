"""What Nagios and Prometheus would misread in a name is written so that they do not."""

from pulsarctl.diagnosis.checks import Limits, Measurement, Result, nagios
from pulsarctl.diagnosis.textfile import textfile


def test_names_with_bars_quotes_and_newlines() -> None:
    reading = Measurement("a='b'|c", 1.5, "s", "a|b\nc", Limits(), {"subscription": 'a"\\\n'})
    result = Result("age", "metric", [reading])
    assert nagios(result) == "AGE OK - a/b c | 'a_''b''/c'=1.5s;;;0"
    assert 'metric{subscription="a\\"\\\\\\n"} 1.5\n' in textfile(result, 0)


def test_more_than_three_values_are_counted() -> None:
    readings = [Measurement(name, value, "", f"{name} is {value}", Limits(2)) for value, name in enumerate("abcde")]
    assert nagios(Result("backlog", "metric", readings)).startswith(
        "BACKLOG WARNING - d is 3; e is 4; a is 0; 2 more | "
    )


def test_nothing_to_check_is_ok_and_says_so() -> None:
    assert nagios(Result("backlog", "metric", idle="no subscription")) == "BACKLOG OK - no subscription"
