"""Whether the messages of a topic, or of an export, are whole: `ops verify`.

sequences      the sequence IDs of each producer: repeated, out of order
part_check     reads one part of a topic, and finds damaged and missing entries
export_check   reads the files of an export, and compares them with its manifest
findings       what was found; findings of parts merge in the order of the plan

The package may import `tables`, `transfer`, and what is below, but not pyspark, and no command.
"""
