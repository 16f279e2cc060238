"""Topics of one cluster -> another one: entries as they are stored, then subscriptions with their holes.

    endpoint     how a cluster is reached
    runs         which entries of the source are which of the target; pure
    entry_copy   the entries of one partition, continued where an earlier run ended
    cursor_copy  the subscriptions of one partition
    holds        what keeps both sides from trimming in the meantime
    topic_copy   one topic from start to end, with the comparison of both sides

Commands import it; it imports the raw reader and sender, and the admin client.
"""
