"""Arrow batches -> messages, through the official client.

write_options    what is written where
payloads         the column `value` -> payloads, and the schema that the producer announces
topic_writer     one task's rows -> one producer for each partition, without duplicates over retries
"""
