"""docs/reference/metrics.md names metrics that the broker has."""

import re
from pathlib import Path

from tests.broker.admin.conftest import Admin

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "metrics.md"


async def test_every_metric_in_the_tables_of_the_page_exists(admin: Admin) -> None:
    await admin("PUT", "/admin/v2/persistent/public/default/orders")
    await admin("PUT", "/admin/v2/persistent/public/default/orders/subscription/billing")
    shown = set(re.findall(r"^# TYPE (\w+)", (await admin("GET", "/metrics/")).text, re.MULTILINE))
    rows = [line.split("|")[1] for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert len(named) > 30
    assert named - shown == set()
