"""The JSON Schema of documents, for the completion and the checks of editors."""

from pulsarctl.state.grammar import DOCUMENT
from pulsarctl.values.shapes import JsonSchema


def json_schema() -> JsonSchema:
    """JSON Schema, draft 2020-12; `.ci/docs/generate.py` writes it to `conf/state.schema.json`."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The state of a Pulsar cluster, for pulsarctl apply",
        **DOCUMENT.json_schema(),
    }
