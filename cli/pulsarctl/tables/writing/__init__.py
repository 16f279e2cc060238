"""Arrow batches -> messages, through the official client, or in transactions through our own connections.

write_options    what is written where
payloads         the column `value` -> payloads, and the schema that the producer announces
struct_rows      structs as records of Avro: their definition, and their values for JSON or Avro
record_scalars   what has no parts: its Avro type, and its values
topic_writer     one task's rows -> one producer for each partition, without duplicates over retries
transaction_writer  one attempt of a task -> messages in a transaction of its own
task_transactions   the driver ends the transactions of a job
begun_log        which transactions the attempts of a job have begun
commit_log       what a stream has committed, for a micro-batch that is repeated
"""
