"""What protobuf says about a field, in every release that we support."""

from google.protobuf.descriptor import FieldDescriptor

from broker_core.wire.texts import is_repeated as is_repeated


def is_required(field: FieldDescriptor) -> bool:
    if hasattr(field, "is_required"):
        return field.is_required
    return bool(field.label == FieldDescriptor.LABEL_REQUIRED)  # type: ignore[attr-defined]  # the stubs know newer releases
