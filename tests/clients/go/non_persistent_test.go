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

func TestConnectedConsumersGetTheMessages(tt *testing.T) {
	t := nonPersistent(tt)
	consumer := t.consumer(pulsar.ConsumerOptions{})
	t.send(t.unbatched(), numbered("v", 5)...)
	t.expect(t.values(consumer, 5), numbered("v", 5)...)
}

func TestNothingIsKept(tt *testing.T) {
	t := nonPersistent(tt)
	producer := t.unbatched()
	t.send(producer, "lost")
	consumer := t.consumer(pulsar.ConsumerOptions{})
	t.send(producer, "seen")
	t.expect(t.values(consumer, 1), "seen")
}

func TestSharedConsumersShareANonPersistentTopic(tt *testing.T) {
	t := nonPersistent(tt)
	one, two := t.consumer(shared(100)), t.consumer(shared(100))
	t.send(t.unbatched(), numbered("v", 6)...)
	t.expectSet(append(t.values(one, 3), t.values(two, 3)...), numbered("v", 6)...)
}
