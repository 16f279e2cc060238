"""One topic: the way in, its subscriptions, and its parts, none of which knows the topic itself.

`topics`, `nonpersistent`, and what is above them import it.
"""
