package clients

import (
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"
)

func (t *test) receiveMany(consumer pulsar.Consumer, count int) []pulsar.Message {
	t.Helper()
	var messages []pulsar.Message
	for range count {
		messages = append(messages, t.receive(consumer))
	}
	return messages
}

func TestWhatIsAcknowledgedDoesNotComeAgain(tt *testing.T) {
	t := start(tt)
	t.send(t.unbatched(), numbered("v", 4)...)
	consumer := t.consumer(shared(100))
	for index, message := range t.receiveMany(consumer, 4) {
		if index%2 == 0 {
			t.must(consumer.Ack(message))
		}
	}
	consumer.Close()
	t.expect(t.values(t.consumer(shared(100)), 2), "v1", "v3")
}

func TestAcknowledgingCumulativelyIncludesAllBefore(tt *testing.T) {
	t := start(tt)
	t.send(t.unbatched(), numbered("v", 5)...)
	consumer := t.consumer(pulsar.ConsumerOptions{})
	t.must(consumer.AckCumulative(t.receiveMany(consumer, 3)[2]))
	consumer.Close()
	t.expect(t.values(t.consumer(pulsar.ConsumerOptions{}), 2), "v3", "v4")
}

func TestAListIsAcknowledgedAsAWhole(tt *testing.T) {
	t := start(tt)
	t.send(t.unbatched(), numbered("v", 5)...)
	options := shared(100)
	options.AckWithResponse = true
	consumer := t.consumer(options)
	var ids []pulsar.MessageID
	for _, message := range t.receiveMany(consumer, 5)[1:4] {
		ids = append(ids, message.ID())
	}
	t.must(consumer.AckIDList(ids))
	consumer.Close()
	t.expect(t.values(t.consumer(shared(100)), 2), "v0", "v4")
}
