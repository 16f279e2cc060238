"""Scalable topics (Pulsar 5.0): topics whose segments split and merge while clients use them.

`layout` is the graph of segments, `synthetic` the layout of a regular topic as such clients see it, `sharing` decides
which stream consumer gets which segment, and `group` carries that out. `scaling` decides when the broker
itself splits or merges, and `auto_scaler` does it. `topics` ties them to the broker's topics.
"""
