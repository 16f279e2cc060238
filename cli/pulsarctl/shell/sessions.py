"""The session of `batch` and of `shell`: command lines that this process runs itself."""

from collections.abc import Mapping, Sequence
from typing import Any

import typer

from pulsarctl.admin.connections import kept_open
from pulsarctl.shell.call import Call
from pulsarctl.shell.root import Root, application
from pulsarctl.shell.session import Session

OWN = ("embedded", "lock_timeout_seconds")  # what the session does once for all lines


def session(call: Call) -> Session:
    """Lasts as long as the call. With `--embedded`, all lines use one broker."""
    root = typer.main.get_command(application())
    assert isinstance(root, Root)
    call.with_resource(kept_open())
    options = {name: value for name, value in call.obj.items() if name not in OWN}
    if call.settings.embedded is not None:
        options |= {"web_url": call.settings.web_url, "service_url": call.settings.service_url}

    def main(words: Sequence[str], flags: Mapping[str, Any]) -> int:
        try:
            root.main(list(words), shared=flags)
        except SystemExit as leaving:
            return leaving.code if isinstance(leaving.code, int) else 1
        except KeyboardInterrupt:
            return 130
        return 0

    return Session(main, options)
