"""The web console in front of any cluster: the pages of the bundled broker, served by `pulsarctl console`.

The pages and their interface to the admin API are `broker_core.console`.
"""
