"""A few trials of `make damage`, and a test that the trials can fail."""

from pathlib import Path

import pytest

from tests.long.damage.injury import KINDS, Injury
from tests.long.damage.load import Sample, make_samples
from tests.long.damage.trial import Verdict, judge, run_trial

TRIALS = range(20)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> list[Sample]:
    return make_samples(tmp_path_factory.mktemp("samples"))


def test_no_wrong_data_is_served_and_no_loss_is_unreported(samples: list[Sample], tmp_path: Path) -> None:
    verdicts = [run_trial(samples[seed // len(KINDS) % 2], tmp_path / "trial", seed) for seed in TRIALS]
    assert [str(verdict) for verdict in verdicts if not verdict.is_good] == []
    assert any(verdict.lost for verdict in verdicts)


def test_an_undamaged_directory_serves_all_messages_and_reports_nothing(samples: list[Sample]) -> None:
    for sample in samples:
        verdict = Verdict(Injury("none", Path(), "none"))
        judge(verdict, sample.content, sample.directory)
        assert (verdict.is_good, verdict.lost, verdict.refused) == (True, 0, ""), str(verdict)
