"""Types of Arrow as Spark writes them. Spark compares them exactly, so each has one counterpart."""

import pyarrow as pa

_NAMES: dict[pa.DataType, str] = {
    pa.string(): "string",
    pa.binary(): "binary",
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.date32(): "date",
    pa.timestamp("us", tz="UTC"): "timestamp",
    pa.timestamp("us"): "timestamp_ntz",
}


def ddl(schema: pa.Schema) -> str:
    """The schema as Spark reads it."""
    return ", ".join(f"`{_quoted(field.name)}` {spark_type(field.type)}" for field in schema)


def spark_type(arrow: pa.DataType) -> str:
    """Raises `KeyError` for a type that no table has."""
    if pa.types.is_struct(arrow):
        return f"struct<{','.join(f'`{_quoted(part.name)}`:{spark_type(part.type)}' for part in arrow)}>"
    if pa.types.is_list(arrow):
        return f"array<{spark_type(arrow.value_type)}>"
    if pa.types.is_map(arrow):
        return f"map<{spark_type(arrow.key_type)},{spark_type(arrow.item_type)}>"
    if pa.types.is_decimal(arrow):
        return f"decimal({arrow.precision},{arrow.scale})"
    return _NAMES[arrow]


def _quoted(name: str) -> str:
    return name.replace("`", "``")
