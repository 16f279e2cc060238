"""One action on many things at once: bounded threads, one connection each, results in order.

Commands and `state` import it. It imports the admin client and what is below it.
"""
