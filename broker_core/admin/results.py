"""The answer for what a handler returns or raises: the only translation of errors into statuses and reasons."""

from __future__ import annotations

import logging
from typing import Any

from broker_core.admin.call import Answer, json_answer
from broker_core.errors import BrokerError, PersistenceFailed, TopicFenced
from broker_core.rates.long_text import sliced_json
from broker_core.storage.errors import Closed, StorageError
from broker_core.wire.errors import EntryError

log = logging.getLogger(__name__)

LONGEST_REASON = 2_000  # characters; a reason may quote the request


async def result_of(work: Any, request: str) -> Answer:
    """The handler's answer. `request` names the request in the log."""
    try:
        result = await work
        if result is None:
            return Answer(204)
        return result if isinstance(result, Answer) else Answer(200, await sliced_json(result))
    except BrokerError as error:
        return refused(error.reason, error.status)
    except EntryError as error:  # a message is as its producer made it
        return refused(f"cannot read the message: {error}", 412)
    except Closed as error:  # the topic was unloaded in the meantime
        return refused(f"{error}; try again", TopicFenced.status)
    except StorageError as error:
        return refused(str(error), PersistenceFailed.status)
    except TimeoutError:
        raise
    except Exception as error:
        log.exception("%s failed", request[:LONGEST_REASON])
        return refused(f"{type(error).__name__}: {error}", 500)


def refused(reason: str, status: int) -> Answer:
    return json_answer({"reason": reason[:LONGEST_REASON]}, status)
