package clients

import (
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"
)

func TestOneConsumerReadsSeveralTopics(tt *testing.T) {
	t := start(tt)
	second := newTopic("public/default")
	consumer := t.consumer(pulsar.ConsumerOptions{Topics: []string{t.topic, second}})
	t.send(t.unbatched(), "a")
	t.send(t.producer(pulsar.ProducerOptions{Topic: second}), "b")
	t.expectSet(t.values(consumer, 2), "a", "b")
	t.eventually("both are acknowledged", func() bool { return t.backlog() == 0 })
}
