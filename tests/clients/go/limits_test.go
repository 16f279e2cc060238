package clients

import (
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"
)

func TestOneProducerTooManyIsBusy(tt *testing.T) {
	t := start(tt)
	t.must(t.admin.Namespaces().SetMaxProducersPerTopic(t.namespaceName(), 1))
	t.unbatched()
	_, err := t.tryProducer(pulsar.ProducerOptions{})
	t.expectError(err, "ProducerBusy")
}

func TestOneConsumerTooManyIsBusy(tt *testing.T) {
	t := start(tt)
	t.must(t.admin.Namespaces().SetMaxConsumersPerTopic(t.namespaceName(), 1))
	t.consumer(shared(10))
	_, err := t.tryConsumer(shared(10))
	t.expectError(err, "ConsumerBusy")
}
