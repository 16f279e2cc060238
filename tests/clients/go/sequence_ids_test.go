package clients

import (
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"
)

func TestEachMessageHasTheNextSequenceID(tt *testing.T) {
	t := start(tt)
	producer := t.unbatched()
	t.send(producer, "a", "b")
	if last := producer.LastSequenceID(); last != 1 {
		t.Fatalf("last sequence id %d", last)
	}
}

func TestWithoutDeduplicationARepeatedSequenceIDIsStoredAgain(tt *testing.T) {
	t := start(tt)
	producer := t.unbatched()
	t.sendNumbered(producer, 5, "a")
	t.sendNumbered(producer, 5, "b")
	t.expect(t.values(t.consumer(pulsar.ConsumerOptions{}), 2), "a", "b")
}
