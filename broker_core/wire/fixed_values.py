"""The bytes of values whose schema needs no definition, as every Pulsar client writes them: big-endian.

By the name of the schema type, a format of `struct`.
"""

from types import MappingProxyType
from typing import Final

NUMBERS: Final = MappingProxyType(
    {
        "BOOLEAN": ">?",
        "INT8": ">b",
        "INT16": ">h",
        "INT32": ">i",
        "INT64": ">q",
        "FLOAT": ">f",
        "DOUBLE": ">d",
        "DATE": ">q",  # milliseconds since 1970-01-01
        "TIME": ">q",  # milliseconds since midnight
        "TIMESTAMP": ">q",  # milliseconds since 1970-01-01
    }
)
LOCAL_TIMES: Final = MappingProxyType(
    {
        "INSTANT": ">qi",  # seconds since 1970-01-01, nanoseconds
        "LOCAL_DATE": ">q",  # days since 1970-01-01
        "LOCAL_TIME": ">q",  # nanoseconds since midnight
        "LOCAL_DATE_TIME": ">qq",  # days since 1970-01-01, nanoseconds since midnight
    }
)
