"""Gathers the facts of `doctor`, for the rules of `diagnosis.checkup`. Changes nothing."""
