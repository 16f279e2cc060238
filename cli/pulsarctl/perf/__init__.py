"""Load and latency measurements: `perf produce`, `perf consume`, `perf read`, and `perf e2e`.

`latencies`, `counts`, `pace`, and `record` are pure; `sending`, `receiving`, and `reading` do the work on threads.
"""
