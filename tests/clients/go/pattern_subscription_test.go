package clients

import (
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
)

func TestTopicsOfThePatternAreConsumedAndNoOthers(tt *testing.T) {
	t := start(tt)
	namespace := "persistent://" + t.newNamespace()
	for _, name := range []string{"log-a", "log-b", "other"} {
		t.send(t.producer(pulsar.ProducerOptions{Topic: namespace + "/" + name}), name)
	}
	consumer := t.consumer(pulsar.ConsumerOptions{TopicsPattern: namespace + "/log-.*"})
	t.expectSet(t.values(consumer, 2), "log-a", "log-b")
	t.expectQuiet(consumer)
}

func TestANewTopicIsNoticed(tt *testing.T) {
	t := start(tt)
	namespace := "persistent://" + t.newNamespace()
	consumer := t.consumer(pulsar.ConsumerOptions{TopicsPattern: namespace + "/log-.*", AutoDiscoveryPeriod: time.Second})
	t.send(t.producer(pulsar.ProducerOptions{Topic: namespace + "/log-new"}), "new")
	t.expect(t.values(consumer, 1), "new")
}
