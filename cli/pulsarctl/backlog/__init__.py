"""The backlogs of subscriptions: surveyed, counted, and reported; without Spark.

    targets -> survey     on the driver: which topics, and what the admin API says about their ledgers and cursors
    counting -> tally     in a task: the entries of one part of the plan -> one tally for each subscription
    local                 runs the parts in this process; `pulsarctl.spark.jobs.backlog` runs the same on Spark
    report                tallies and survey -> what `ops backlog` shows
    terminal, page        a report as text, and as one HTML file (plots)
    snapshots             reports that are kept for a trend

Counting is a pure function over Arrow batches, and tallies merge in the order of the plan, so both engines find the
same numbers. The package may import `tables`, `admin`, and what is below them, but not pyspark, and no command.
"""
