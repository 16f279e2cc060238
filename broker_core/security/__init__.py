"""Who a client is, and what it may do. One class for each way to authenticate, and one module that decides.

Knows neither the binary protocol nor REST: `server` and `admin` ask here, and say it in their own words.
"""
