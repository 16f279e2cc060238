"""No name of a tenant, namespace, or topic leads out of the folder that its objects have."""

import posixpath
import unicodedata
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.names import path_part
from broker_core.offload.manifest import manifest_path, objects_folder, tier_path

UUID = "0b7f3c1a-9a67-4d4c-8f1c-3b1c8f0a1d2e"
SAMPLES = st.sampled_from([".", "..", "...", "a.b", "%2E", "%2E%2E", "\\..", "a\nb"])
NAMES = st.text(min_size=1, max_size=8) | SAMPLES
ENTITIES = NAMES.filter(lambda name: not {"/", "%"} & set(name))


def ledger(tenant: str, namespace: str, local: str) -> str:
    """As the broker names it."""
    return f"{tenant}/{namespace}/persistent/{quote(local.encode(errors='ignore'), safe='')}"


@given(ENTITIES, ENTITIES, NAMES)
def test_objects_stay_in_the_folder_of_their_instance(tenant: str, namespace: str, local: str) -> None:
    path = tier_path("pulsarctl-1", ledger(tenant, namespace, local), 7, UUID)
    assert posixpath.normpath(path) == path
    assert len(path.split("/")) == 6
    assert not any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in path)
    assert manifest_path(path).startswith("pulsarctl-1/")


@given(st.lists(st.tuples(ENTITIES, ENTITIES, NAMES), max_size=5))
def test_two_topics_never_share_a_folder(names: list[tuple[str, str, str]]) -> None:
    ledgers = {ledger(*each) for each in names}
    assert len(set(map(objects_folder, ledgers))) == len(ledgers)


@given(st.from_regex(r"[-=:.a-zA-Z0-9_]*[-=:a-zA-Z0-9_%][-=:.a-zA-Z0-9_]*", fullmatch=True))
def test_an_ordinary_name_stays_as_it_is(name: str) -> None:
    assert path_part(name) == name


@pytest.mark.parametrize(
    ("name", "part"),
    [("..", "%2E%2E"), (".", "%2E"), ("...", "%2E%2E%2E"), ("a/b", "a%2Fb"), ("a\n", "a%0A"), ("", "%")],
)
def test_other_names_are_encoded(name: str, part: str) -> None:
    assert path_part(name) == part
