"""The messaging options of `produce`, `consume`, and `read` on our broker and on Apache Pulsar."""

import pytest

from tests.long.real_pulsar.java_pulsar import JavaPulsar
from tests.long.real_pulsar.steps import Answers, check_same, numbered, run_on_both

pytestmark = [pytest.mark.real_pulsar, pytest.mark.timeout(1800)]

# Names of producers are part of the stored bytes that statistics count, so producers of such topics are named.
STEPS = r"""
tenants create talk
namespaces create talk/ns
namespaces set-retention talk/ns -t 1h -s 1G
produce talk/ns/t -m a -m b -m c -k k1 --access-mode Exclusive --producer-name first
produce talk/ns/t -m d --access-mode ExclusiveWithFencing --producer-name fencing
produce talk/ns/t -m e --access-mode WaitForExclusive --producer-name waiting
produce talk/ns/t -m f -m g --sequence-id 7 --producer-name named
produce talk/ns/t -m h --ordering-key o1 --event-time 2024-05-01T00:00:00Z --producer-name keyed
read talk/ns/t -m earliest -e -F '%v %k %y %D %a{ordering-key}\n'
consume talk/ns/t -s shared -t Shared -p Earliest -e -F '%v\n'
consume talk/ns/t -s failover -t Failover -p Earliest -e -F '%v\n'
consume talk/ns/t -s keyed -t Key_Shared -p Earliest -e -F '%v\n'
consume talk/ns/t -s sticky -t Key_Shared --hash-range 0-65535 -p Earliest -e -F '%v\n'
consume talk/ns/t -s halves -t Key_Shared --hash-range 0-9999 --hash-range 10000-65535 -p Earliest -e -F '%v\n'
consume talk/ns/t -s loose -t Key_Shared --allow-out-of-order -p Earliest -e -F '%v\n'
consume talk/ns/t -s named -t Shared --consumer-name me -p Earliest -e -F '%v\n'
topics stats talk/ns/t
produce talk/ns/poison -m bad
consume talk/ns/poison -s w -t Shared -p Earliest --nack --nack-delay 1s -n 3 --idle-timeout 8s -F '%v %a{redelivery}\n'
consume talk/ns/poison -s w -t Shared --nack --nack-delay 1s --dlq auto --max-redeliveries 2 --idle-timeout 5s -F '%v\n'
consume talk/ns/poison-w-DLQ -p Earliest -e -F '%v\n'
produce talk/ns/later -m delayed --deliver-after 2s
consume talk/ns/later -s exclusive -p Earliest -e -F '%v\n'
consume talk/ns/later -s shared -t Shared -p Earliest -n 1 --idle-timeout 8s -F '%v\n'
produce talk/ns/chunks -f LARGE
produce talk/ns/chunks -f LARGE --chunking
consume talk/ns/chunks -p Earliest -e -F '%V\n'
read talk/ns/chunks -m earliest -e -F '%V\n'
produce non-persistent://talk/ns/volatile -m dropped
topics create-partitioned-topic talk/ns/parts -p 2
produce talk/ns/parts -m one --partition 1
consume talk/ns/parts --partition 1 -p Earliest -e -F '%p %v\n'
consume talk/ns/parts --partition 0 -p Earliest -e -F '%p %v\n'
consume talk/ns/parts -p Earliest -e -t Shared -F '%p %v\n'
produce talk/ns/multi-1 -m m1
consume 'persistent://talk/ns/multi.*' --regex -s re -p Earliest -n 1 --idle-timeout 8s -F '%t %v\n'
consume 'persistent://talk/ns/multi.*' --regex --regex-mode all -s re2 -p Earliest -n 1 --idle-timeout 8s -F '%t %v\n'
produce talk/ns/keys -m 'a=1' -m 'b=2' -m 'a=3' -K =
topics compact talk/ns/keys --wait
consume talk/ns/keys --compacted -p Earliest -e -F '%k=%v\n'
read talk/ns/keys --compacted -m earliest -e -F '%k=%v\n'
produce talk/ns/peeked -m one -db -k k1 -p a=1 --event-time 2024-05-01T00:00:00Z --producer-name peeked
topics create-subscription talk/ns/peeked -s s -m earliest
produce talk/ns/peeked -m b1 -m b2 -m b3 -k k2 -z zstd --producer-name peeked
topics peek-messages talk/ns/peeked -s s -n 9 -F '%o{entry}:%o{batch} %k=%v %y %a{compression} %h{%k=%v;}\n'
topics peek-messages talk/ns/peeked -s s -n 2 -F '%v\n'
topics peek-messages talk/ns/peeked -s other -F '%v\n'
topics examine-messages talk/ns/peeked -F '%v\n'
topics examine-messages talk/ns/peeked -i earliest -o jsonl
topics examine-messages talk/ns/peeked -i earliest -m 9 -F '%v\n'
topics get-message-by-id talk/ns/peeked -l 999999 -e 0
""".strip().splitlines()


@pytest.fixture(scope="module")
def answers(java_pulsar: JavaPulsar, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    home = tmp_path_factory.mktemp("home")
    large = home / "large"
    large.write_bytes(b"twelve bytes" * (1 << 20))
    return run_on_both([step.replace("LARGE", str(large)) for step in STEPS], java_pulsar, home)


@pytest.mark.parametrize("index", range(len(STEPS)), ids=numbered(STEPS))
def test_the_answer_is_the_same(answers: Answers, index: int) -> None:
    check_same(answers, index)
