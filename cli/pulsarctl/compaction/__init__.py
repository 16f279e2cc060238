"""The last message of each key of a topic, found by a job, for the broker that compacts.

range        what is not compacted yet
last_places  the parts of a plan -> the last place of each key, the same in this process and in Spark tasks

It may import `tables` and what is below. It imports neither pyspark nor a command.
"""
