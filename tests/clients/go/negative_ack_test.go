package clients

import (
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
)

func TestARefusedMessageComesAgainAndIsCounted(tt *testing.T) {
	t := start(tt)
	t.send(t.unbatched(), "a", "b")
	consumer := t.consumer(pulsar.ConsumerOptions{Type: pulsar.Shared, NackRedeliveryDelay: 100 * time.Millisecond})
	for count := range 3 {
		message := t.receive(consumer)
		for string(message.Payload()) == "b" {
			t.must(consumer.Ack(message))
			message = t.receive(consumer)
		}
		if message.RedeliveryCount() != uint32(count) {
			t.Fatalf("redelivered %d times, wanted %d", message.RedeliveryCount(), count)
		}
		consumer.Nack(message)
	}
}

// growing waits 100 ms longer each time.
type growing struct{}

func (growing) Next(count uint32) time.Duration {
	return time.Duration(count+1) * 100 * time.Millisecond
}

func TestABackoffDecidesWhenAMessageComesAgain(tt *testing.T) {
	t := start(tt)
	t.send(t.unbatched(), "v")
	consumer := t.consumer(pulsar.ConsumerOptions{Type: pulsar.Shared, NackBackoffPolicy: growing{}})
	for count := range 3 {
		message := t.receive(consumer)
		if message.RedeliveryCount() != uint32(count) {
			t.Fatalf("redelivered %d times, wanted %d", message.RedeliveryCount(), count)
		}
		consumer.Nack(message)
	}
}
