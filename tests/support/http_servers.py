"""Servers in other processes that tests start: whether they answer over HTTP yet."""

import urllib.request

ANSWER_SECONDS = 30.0


def answers(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=ANSWER_SECONDS).close()
    except OSError:
        return False
    return True
