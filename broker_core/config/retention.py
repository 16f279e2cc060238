"""Which retention limits can be combined, in the configuration and in a policy."""

from broker_core.errors import InvalidRequest

_ONE_LIMIT_IS_ZERO = (
    "Invalid retention policy: Setting a single time or size limit to 0 is invalid when one of the limits has"
    " a non-zero value. Use the value of -1 instead of 0 to ignore a specific limit. To disable retention"
    " both limits must be set to 0."
)


def check_retention(minutes: int, mb: int) -> None:
    """Raises `InvalidRequest` if only one limit is 0, or if one is below -1, which stands for no limit."""
    if mb < -1:
        raise InvalidRequest("Invalid retention policy: size limit must be >= -1")
    if minutes < -1:
        raise InvalidRequest("Invalid retention policy: time limit must be >= -1")
    if (minutes == 0) != (mb == 0):
        raise InvalidRequest(_ONE_LIMIT_IS_ZERO)
