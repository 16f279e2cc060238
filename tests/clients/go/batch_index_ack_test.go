package clients

import (
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"
)

func byBatchIndex() pulsar.ConsumerOptions {
	return pulsar.ConsumerOptions{Type: pulsar.Shared, EnableBatchIndexAcknowledgment: true, AckWithResponse: true}
}

func TestTheRestOfABatchComesAgain(tt *testing.T) {
	t := start(tt)
	t.sendBatch(t.batched(), numbered("v", 6)...)
	consumer := t.consumer(byBatchIndex())
	for index, message := range t.receiveMany(consumer, 6) {
		if index%2 == 0 {
			t.must(consumer.Ack(message))
		}
	}
	consumer.Close()
	consumer = t.consumer(byBatchIndex())
	t.expect(t.values(consumer, 3), "v1", "v3", "v5")
	t.expectQuiet(consumer)
	t.eventually("no backlog", func() bool { return t.backlog() == 0 })
}

func TestAcknowledgingCumulativelyInsideABatchKeepsTheRest(tt *testing.T) {
	t := start(tt)
	t.sendBatch(t.batched(), numbered("v", 6)...)
	options := pulsar.ConsumerOptions{EnableBatchIndexAcknowledgment: true, AckWithResponse: true}
	consumer := t.consumer(options)
	t.must(consumer.AckCumulative(t.receiveMany(consumer, 4)[3]))
	consumer.Close()
	t.expect(t.values(t.consumer(options), 2), "v4", "v5")
}
