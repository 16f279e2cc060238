package clients

import (
	"strings"
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"
)

func nonPersistent(tt *testing.T) *test {
	t := start(tt)
	t.topic = strings.Replace(t.topic, "persistent://", "non-persistent://", 1)
	return t
}

// ready waits for the permits of the consumers: the broker drops what it cannot send at once.
func (t *test) ready(consumers int) {
	t.Helper()
	t.eventually("the consumers have permits", func() bool {
		ready := 0
		for _, consumer := range t.stats().Subscriptions["s"].Consumers {
			if consumer.AvailablePermits > 0 {
				ready++
			}
		}
		return ready == consumers
	})
}

func TestConnectedConsumersGetTheMessages(tt *testing.T) {
	t := nonPersistent(tt)
	consumer := t.consumer(pulsar.ConsumerOptions{})
	t.ready(1)
	t.send(t.unbatched(), numbered("v", 5)...)
	t.expect(t.values(consumer, 5), numbered("v", 5)...)
}

func TestNothingIsKept(tt *testing.T) {
	t := nonPersistent(tt)
	producer := t.unbatched()
	t.send(producer, "lost")
	consumer := t.consumer(pulsar.ConsumerOptions{})
	t.ready(1)
	t.send(producer, "seen")
	t.expect(t.values(consumer, 1), "seen")
}

func TestSharedConsumersShareANonPersistentTopic(tt *testing.T) {
	t := nonPersistent(tt)
	one, two := t.consumer(shared(100)), t.consumer(shared(100))
	t.ready(2)
	t.send(t.unbatched(), numbered("v", 6)...)
	t.expectSet(append(t.values(one, 3), t.values(two, 3)...), numbered("v", 6)...)
}
