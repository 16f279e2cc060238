"""The catalog of client tests and the table in docs/reference/compatibility.md match the sources."""

from tests.clients.catalogue import FEATURES, source_files
from tests.clients.compatibility_table import counts_in_page


def test_every_file_of_tests_shows_a_known_feature() -> None:
    unknown = {file.path.as_posix(): set(file.features) - set(FEATURES) for file in source_files()}
    assert not any(unknown.values()), unknown


def test_every_feature_is_shown_by_some_client() -> None:
    assert set(FEATURES) - {feature for file in source_files() for feature in file.features} == set()


def test_every_file_of_tests_has_tests() -> None:
    assert [file.path.as_posix() for file in source_files() if not file.tests] == []


def test_the_table_counts_every_test_that_the_tool_chains_run() -> None:
    """If this fails, run `make test-clients ARGS=--write-docs`."""
    told = {path: count for path, count in counts_in_page().items() if not path.endswith(".py")}
    assert told == {file.path.as_posix(): len(file.tests) for file in source_files() if file.client != "Python"}


def test_the_python_tests_of_the_table_exist() -> None:
    told = {path for path in counts_in_page() if path.endswith(".py")}
    assert told <= {file.path.as_posix() for file in source_files() if file.client == "Python"}


def test_node_tests_have_unique_names() -> None:
    """The tool reports the name of a test without its file."""
    names = [name for file in source_files() if file.client == "Node" for name in file.tests]
    assert len(names) == len(set(names))
