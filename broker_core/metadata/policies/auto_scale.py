"""The auto-scale policy of scalable topics, which a topic and its namespace can have (PIP-483). Pure.

It has any of the fields of `config.scaling` but the interval, under the names of Pulsar's `AutoScalePolicyOverride`. A
field of the topic precedes that of the namespace, and that precedes the broker's setting.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from broker_core.config.scaling import ScalingConfig
from broker_core.errors import InvalidValue
from broker_core.metadata.policies.json_values import Fields, Reader, int32, mapping, number, truth

AUTO_SCALE = "scalableTopicAutoScalePolicy"  # its name in a namespace
Override = Mapping[str, Any]


def _name_of(field: "dataclasses.Field[Any]") -> str:
    key = str(field.metadata["setting"].key).removeprefix("scalableTopic").removeprefix("AutoScale")
    return key[:1].lower() + key[1:]


FIELDS = {_name_of(field): field for field in dataclasses.fields(ScalingConfig) if field.name != "interval_seconds"}
"""The fields of `ScalingConfig` by their name in a policy."""

_READERS: Mapping[Any, Reader] = {bool: truth, int: int32, float: number}
READERS: Mapping[str, Reader] = {name: _READERS[field.type] for name, field in FIELDS.items()}


def read_override(value: Any, name: str) -> dict[str, Any]:
    """The fields that are set; unknown ones are ignored, as in Pulsar. Raises `InvalidRequest`."""
    fields = Fields(mapping(value, name))
    values = {member: fields.read(member, read) for member, read in READERS.items()}
    return {member: given for member, given in values.items() if given is not None}


def merged(config: ScalingConfig, *overrides: Override | None) -> ScalingConfig:
    """The settings in force; a later override precedes an earlier one. Raises `InvalidValue` if they contradict."""
    values = {name: value for override in overrides for name, value in (override or {}).items()}
    own = {field.name: values[name] for name, field in FIELDS.items() if name in values}
    rules: ScalingConfig = dataclasses.replace(config, **own)
    problem = _problem(rules)
    if problem:
        raise InvalidValue(f"Invalid auto split/merge configuration: {problem}")
    return rules


def _problem(rules: ScalingConfig) -> str:
    """What contradicts; empty if nothing does."""
    if rules.min_segments < 1:
        return "minSegments must be >= 1"
    if rules.max_segments < rules.min_segments:
        return "maxSegments must be >= minSegments"
    for name in _NOT_NEGATIVE:
        if getattr(rules, FIELDS[name].name) < 0:
            return f"{name} must be >= 0"
    for rate in ("MsgRateIn", "BytesRateIn", "MsgRateOut", "BytesRateOut"):
        split, merge = (getattr(rules, FIELDS[f"{act}{rate}Threshold"].name) for act in ("split", "merge"))
        if split <= 0:
            return f"split{rate}Threshold must be > 0"
        if not 0 <= merge < split:
            return f"merge{rate}Threshold must be >= 0 and < split{rate}Threshold"
    return ""


_NOT_NEGATIVE = (
    "maxDagDepth",
    "splitCooldownSeconds",
    "mergeCooldownSeconds",
    "mergeWindowSeconds",
    "rebucketCooldownSeconds",
    "splitVsRebucketMinMsgRateInThreshold",
)
