"""The order of keys while segments split and merge and stream consumers join, leave, and are killed."""
