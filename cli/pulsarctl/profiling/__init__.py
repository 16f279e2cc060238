"""Statistics of the values in each column of a topic: `ops profile`.

leaves        a column -> the columns inside it: fields of structs, elements of lists, keys of maps
quantiles     the quantiles of very many numbers in bounded memory
column_tally  what is known about one column; tallies merge
profile       the work of one task, and the report

Tallies merge in the order of the plan, so each engine finds the same numbers. The package may import `tables`, `sql`,
`backlog`, and what is below, but not pyspark, and no command.
"""
