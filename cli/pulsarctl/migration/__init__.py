"""Topics, namespaces, and tenants of one cluster -> another one: entries as they are stored, subscriptions, settings.

    endpoint, session  how clusters are reached, and what commands show
    runs               which entries of the source are which of the copy; pure
    holds              what keeps both sides from trimming in the meantime
    ascending_ids      why the IDs of the copy must be greater, and how they become so
    entry_copy         the entries of one partition, continued where an earlier run ended
    cursor_copy        the subscriptions of one partition
    topic_setup        partitions, properties, and schemas of the copy
    same_topic         refuses one cluster under two addresses
    switch             how the clients of a partition leave for the copy
    topic_copy, crew   a partition from start to end with the comparison, and many at a time
    cluster_copy       tenants and namespaces around the topics, and all settings at the end

Only commands import it. It imports `state`, the raw reader and sender, and what is below them.
"""
