package clients

import (
	"sort"
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"
)

func shared(queue int) pulsar.ConsumerOptions {
	return pulsar.ConsumerOptions{Type: pulsar.Shared, ReceiverQueueSize: queue}
}

func (t *test) expectSet(got []string, want ...string) {
	t.Helper()
	sort.Strings(got)
	sort.Strings(want)
	t.expect(got, want...)
}

func TestConsumersShareTheMessages(tt *testing.T) {
	t := start(tt)
	one, two := t.consumer(shared(100)), t.consumer(shared(100))
	t.send(t.unbatched(), numbered("v", 20)...)
	atOne, atTwo := t.drain(one)[""], t.drain(two)[""]
	if len(atOne) == 0 || len(atTwo) == 0 {
		t.Fatalf("%d and %d of 20", len(atOne), len(atTwo))
	}
	t.expectSet(append(atOne, atTwo...), numbered("v", 20)...)
}

func TestWhatAClosedConsumerDidNotAcknowledgeGoesToTheOther(tt *testing.T) {
	t := start(tt)
	one := t.consumer(shared(100))
	t.send(t.unbatched(), numbered("v", 10)...)
	t.receive(one)
	two := t.consumer(shared(100))
	one.Close()
	t.expectSet(t.values(two, 10), numbered("v", 10)...)
}

func TestAQueueOfZeroFetchesOneMessageAtATime(tt *testing.T) {
	t := start(tt)
	t.send(t.unbatched(), numbered("v", 3)...)
	consumer := t.consumer(pulsar.ConsumerOptions{Type: pulsar.Shared, EnableZeroQueueConsumer: true})
	t.expect(t.values(consumer, 3), numbered("v", 3)...)
}
