"""Policies changed all the while: `python -m tests.long.soak.policy_changer HTTP_URL`.

`go` starts changing, one policy after the other, each to a number that was never used before. A request without an
answer ends it: the broker is gone. `stop` answers for each policy the last number that the broker acknowledged since
`go`, and the number that was on its way when the broker died, if any.
"""

import http.client
import json
import sys
import threading
from urllib.parse import urlsplit

NAMESPACE = "/admin/v2/namespaces/public/policies"
TOPIC = "/admin/v2/persistent/public/policies/topic"
# Set and read by these paths; a policy is a number or one field of an object.
POLICIES: dict[str, tuple[str, str | None]] = {
    f"{NAMESPACE}/maxProducersPerTopic": ("POST", None),
    f"{NAMESPACE}/messageTTL": ("POST", None),
    f"{NAMESPACE}/retention": ("POST", "retentionTimeInMinutes"),
    f"{NAMESPACE}/publishRate": ("POST", "publishThrottlingRateInMsg"),
    f"{NAMESPACE}/dispatchRate": ("POST", "dispatchThrottlingRateInMsg"),
    f"{TOPIC}/maxConsumers": ("POST", None),
    f"{TOPIC}/compactionThreshold": ("POST", None),
    f"{TOPIC}/subscriptionDispatchRate": ("POST", "dispatchThrottlingRateInMsg"),
}
OTHER_FIELDS = {
    "retentionTimeInMinutes": {"retentionSizeInMB": 1000},
    "publishThrottlingRateInMsg": {"publishThrottlingRateInByte": -1},
    "dispatchThrottlingRateInMsg": {"dispatchThrottlingRateInByte": -1, "ratePeriodInSecond": 1},
}
ANSWER_SECONDS = 10.0


class Http:
    """One kept connection, opened again after a failure."""

    def __init__(self, url: str) -> None:
        self._address = urlsplit(url).netloc
        self._connection: http.client.HTTPConnection | None = None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        """Status and body; raises OSError or HTTPException when there is no answer."""
        if self._connection is None:
            self._connection = http.client.HTTPConnection(self._address, timeout=ANSWER_SECONDS)
        try:
            text = None if body is None else json.dumps(body)
            self._connection.request(method, path, text, {"Content-Type": "application/json"} if text else {})
            answer = self._connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise


def stored_value(http_: Http, path: str) -> int | None:
    """The current value; None if the policy is not set."""
    status, body = http_.ask("GET", path)
    found = json.loads(body) if status == 200 and body.strip() else None
    field = POLICIES[path][1]
    return found[field] if field and found else found


class Changer:
    def __init__(self, url: str) -> None:
        self._http = Http(url)
        for path in ("/admin/v2/namespaces/public/policies", TOPIC):
            self._http.ask("PUT", path)
        self._changing = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._number = 0
        self.acknowledged: dict[str, int] = {}
        self.pending: dict[str, int] = {}
        self.refused = 0
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while self._changing.wait():
            self._idle.clear()
            for path in POLICIES:
                if self._changing.is_set():
                    self._change(path)
            self._idle.set()

    def _change(self, path: str) -> None:
        self._number += 1
        method, field = POLICIES[path]
        body: object = self._number if field is None else {field: self._number, **OTHER_FIELDS[field]}
        self.pending[path] = self._number
        try:
            status, _ = self._http.ask(method, path, body)
        except (OSError, http.client.HTTPException):
            # It may be stored or not: the next read must find this number or the one before.
            self._changing.clear()
            return
        del self.pending[path]
        if status in (200, 204):
            self.acknowledged[path] = self._number
        else:
            self.refused += 1

    def stop(self) -> dict[str, object]:
        self._changing.clear()
        self._idle.wait()
        report = {"acknowledged": self.acknowledged, "pending": self.pending, "refused": self.refused}
        self.acknowledged, self.pending = {}, {}
        return report

    def go(self) -> None:
        self._changing.set()


def main() -> None:
    changer = Changer(sys.argv[1])
    for line in sys.stdin:
        if line == "go\n":
            changer.go()
        else:
            print(json.dumps(changer.stop()), flush=True)


if __name__ == "__main__":
    main()
