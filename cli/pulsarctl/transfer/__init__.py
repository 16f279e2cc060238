"""Topics <-> files: `ops export` and `ops import`.

portable       the columns of an exported message, and how text formats write them
file_formats   one file in Parquet, JSON lines, CSV, or Avro, written whole
avro_files     what is special about Avro files
json_values    decoded values as valid JSON
object_stores  stores by their URI, with credentials from the environment
places         a directory, or a prefix of an object store
part_files     the files of one part of a plan: one, or one for each day or group of keys
exporting      a plan of `tables` -> files, the same in this process and in a Spark task
manifest       the state file of a directory, written last
column_types   columns of files from elsewhere, with the types of an export
imported_rows  files -> rows in the order of the export
target         the topic that gets rows, and the partition of a row
message_rows   Arrow batches -> the arguments of sends
partition_sender  rows of one partition -> messages, in order, continuing where an earlier run ended
row_sender     the same for all partitions, in this process
transaction_sender  rows of all partitions -> messages in one transaction, in this process
routed_rows    the same in two stages: rows to the task of their partition, and from there to the topic
pace           a maximum of rows per second
import_progress  how far an import has come
replay_state   what a replay that was interrupted still has to send

It may import `tables` and what is below. It imports neither pyspark nor a command.
"""
