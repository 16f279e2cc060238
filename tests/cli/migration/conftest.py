import itertools

import pytest

_NUMBERS = itertools.count()


@pytest.fixture
def topic() -> str:
    """A new topic."""
    return f"persistent://public/default/copied-{next(_NUMBERS)}"
