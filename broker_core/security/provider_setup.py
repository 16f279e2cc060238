"""The parameters of every provider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.config.openid import OpenIdConfig
    from broker_core.config.security import SecurityConfig
    from broker_core.tasks import Spawn


@dataclass(frozen=True, slots=True)
class Setup:
    """`spawn` runs what must go on when its caller leaves."""

    config: SecurityConfig
    openid: OpenIdConfig
    clock: Clock
    spawn: Spawn
