"""The examples in Python run as their README says, against a broker of ours."""

import subprocess
import sys
from pathlib import Path

import pytest

from broker_core.testing import EmbeddedBroker

EXAMPLES = Path(__file__).parents[3] / "examples"


def run(*words: str, cwd: Path) -> str:
    done = subprocess.run([sys.executable, *words], cwd=cwd, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_client_bills_each_customers_orders_in_order(pulsar_broker: EmbeddedBroker, tmp_path: Path) -> None:
    lines = run(str(EXAMPLES / "client.py"), pulsar_broker.service_url, cwd=tmp_path).splitlines()
    assert [line for line in lines if line.startswith("ada")] == ["ada pays 12.50", "ada pays 7.99"]
    assert [line for line in lines if not line.startswith("ada")] == ["bob pays 3.20"]


def test_the_tests_of_the_example_pass_with_pytest_alone(tmp_path: Path) -> None:
    plugins = [word for name in ("cacheprovider", "asyncio", "timeout", "xdist") for word in ("-p", f"no:{name}")]
    shown = run("-m", "pytest", "-q", *plugins, str(EXAMPLES / "test_orders.py"), cwd=tmp_path)
    assert "2 passed" in shown


@pytest.mark.spark
@pytest.mark.slow
def test_the_notebook_shows_what_each_customer_paid(pulsar_broker: EmbeddedBroker, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    urls = (pulsar_broker.service_url, pulsar_broker.http_url)
    shown = run(str(EXAMPLES / "orders_notebook.py"), *urls, cwd=tmp_path)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in shown.splitlines() if "|" in line]
    assert rows == [["key", "paid"], ["ada", "20.49"], ["bob", "3.2"]]


def test_the_readme_lists_every_example() -> None:
    text = (EXAMPLES / "README.md").read_text()
    entries = [path.name for path in EXAMPLES.iterdir() if path.name not in ("README.md", "__pycache__")]
    assert [name for name in entries if f"({name}" not in text and f"[{name}]" not in text] == []
