package clients

import (
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"
)

func TestAnAcknowledgementIsAnsweredWhenItIsDone(tt *testing.T) {
	t := start(tt)
	t.send(t.unbatched(), "v")
	consumer := t.consumer(pulsar.ConsumerOptions{AckWithResponse: true})
	t.must(consumer.Ack(t.receive(consumer)))
	t.eventually("no backlog", func() bool { return t.backlog() == 0 })
}

func TestACumulativeAcknowledgementIsAnswered(tt *testing.T) {
	t := start(tt)
	t.send(t.unbatched(), "a", "b")
	consumer := t.consumer(pulsar.ConsumerOptions{AckWithResponse: true})
	t.must(consumer.AckCumulative(t.receiveMany(consumer, 2)[1]))
	t.eventually("no backlog", func() bool { return t.backlog() == 0 })
}
