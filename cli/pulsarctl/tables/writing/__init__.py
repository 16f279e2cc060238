"""Arrow batches -> messages, through the official client.

write_options    what is written where
payloads         the column `value` -> payloads, and the schema that the producer announces
struct_rows      structs as records of Avro: their definition, and their values for JSON or Avro
record_scalars   what has no parts: its Avro type, and its values
topic_writer     one task's rows -> one producer for each partition, without duplicates over retries
"""
