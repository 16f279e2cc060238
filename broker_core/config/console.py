"""The section of the configuration of the web console. Read `config` first."""

from broker_core.config.frozen import frozen
from broker_core.config.setting import setting


@frozen
class ConsoleConfig:
    """The web console."""

    enabled: bool = setting(
        "consoleEnabled",
        True,
        "Whether the broker serves the web console at / of web ports (docs/how-to/console.md).",
    )
    actions: bool = setting(
        "consoleActionsEnabled",
        False,
        "Whether the web console offers actions, such as skipping messages; without them, it is read-only.",
    )
    sessions: int = setting(
        "consoleMaxSessions",
        1000,
        "Maximum number of users who are signed in to the web console; with one more, the session that was not used"
        " for the longest time ends.",
        least=1,
    )
    idle_seconds: float = setting(
        "consoleSessionTimeoutMs",
        1_800_000 / 1000,
        "Time after which a session of the web console ends if it is not used (ms).",
        scale=0.001,
        least=1,
    )
