"""Method `basic`: a user and a password of an htpasswd file. The role is the user.

Hashing takes milliseconds, so it runs in a thread, and `check_queue` says for whom. An unknown user costs as much as a
known one.
"""

from __future__ import annotations

import asyncio
import importlib
from typing import TYPE_CHECKING, ClassVar

from broker_core.errors import AuthenticationFailed, InvalidConfiguration
from broker_core.security.keys import read_value
from broker_core.security.passwords import checker, read_users, user_name
from broker_core.security.provider import Credentials, Identity, checked_role

if TYPE_CHECKING:
    from broker_core.security.provider_setup import Setup

LONGEST = 4096  # bytes


class BasicProvider:
    method: ClassVar[str] = "basic"

    def __init__(self, setup: Setup) -> None:
        config = setup.config
        if not config.basic_file:
            raise InvalidConfiguration("set basicAuthConf to a file of users and password hashes")
        self._users = read_users(read_value("basicAuthConf", config.basic_file))
        if any(hashed.startswith("$2") for hashed in self._users.values()):
            importlib.import_module("bcrypt")  # imported now, so that a missing library keeps the broker from starting

    async def authenticate(self, credentials: Credentials) -> Identity:
        name, colon, password = credentials.data.partition(b":")
        if not colon or len(credentials.data) > LONGEST:
            raise AuthenticationFailed("the credentials are not user:password")
        user = user_name(name)
        # A user who does not exist is compared with one who does, which takes as long.
        check = checker(self._users.get(user) or next(iter(self._users.values())))
        matches = check is not None and await asyncio.to_thread(check, password)
        if not matches or user not in self._users:
            raise AuthenticationFailed("unknown user or wrong password")
        return Identity(checked_role(user))
