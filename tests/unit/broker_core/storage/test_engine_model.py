"""The storage engine against a plain model: append, acknowledge, seek, trim, roll, restart, crash."""

import pytest

from tests.support.storage_model import QUICK, Model

TestModel = pytest.mark.slow(Model.TestCase)
TestModel.settings = QUICK
