"""A plan that is out of date when it is applied."""

import pytest

from broker_core.testing import EmbeddedBroker
from pulsarctl.bulk.crew import Crew
from pulsarctl.errors import NotFound
from pulsarctl.settings.settings import Settings
from pulsarctl.state.applying import Applied, apply
from pulsarctl.state.plan import Change, Plan


def applied(broker: EmbeddedBroker, *changes: Change) -> Applied:
    with Crew(Settings(web_url=broker.http_url)) as crew:
        return apply(Plan("standalone", list(changes)), crew)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("topic", "persistent://public/default/gone"),
        ("namespace", "public/gone"),
        ("tenant", "gone"),
        ("cluster", "gone"),
    ],
)
def test_what_another_run_has_deleted_meanwhile_counts_as_deleted(
    pulsar_broker: EmbeddedBroker, kind: str, name: str
) -> None:
    found = applied(pulsar_broker, Change(kind, name, "delete"))
    assert (found.done, found.failures) == (1, [])


def test_what_another_run_has_deleted_meanwhile_cannot_be_changed(pulsar_broker: EmbeddedBroker) -> None:
    found = applied(pulsar_broker, Change("tenant", "gone", "update"))
    assert (found.done, [type(failure.error) for failure in found.failures]) == (0, [NotFound])
