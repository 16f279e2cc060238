"""Topics <-> files: `ops export` and `ops import`.

portable       the columns of an exported message, and how text formats write them
file_formats   one file in Parquet, JSON lines, CSV, or Avro, written whole
places         a directory, or a prefix of an object store
part_files     the files of one part of a plan: one, or one for each day or group of keys
exporting      a plan of `tables` -> files, the same in this process and in a Spark task
manifest       the state file of a directory, written last
imported_rows  files -> rows in the order of the export
row_sender     rows -> messages, in order for each key, continuing where an earlier run ended
replay_state   what a replay that was interrupted still has to send

It may import `tables` and what is below. It imports neither pyspark nor a command.
"""
