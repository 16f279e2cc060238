"""Payloads -> typed values, each message by the schema version it was written with.

schemas_of_topics   the versions of each topic, asked for once, on the driver
shapes              one definition -> an Arrow type, and a decoder of one payload (avro, protobuf, plain, key_value)
evolution           the types of all versions -> one type, and what a field of an older version is called in it
value_type          what a table carries to its tasks
typed_values        the columns value, raw_value, and decode_error of one read
"""
