package clients

import (
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"
)

func TestASecondConsumerIsBusy(tt *testing.T) {
	t := start(tt)
	t.consumer(pulsar.ConsumerOptions{})
	_, err := t.tryConsumer(pulsar.ConsumerOptions{})
	t.expectError(err, "ConsumerBusy")
}

func TestTheNextConsumerGoesOnWhereTheAcknowledgementsEnd(tt *testing.T) {
	t := start(tt)
	t.send(t.unbatched(), numbered("v", 4)...)
	consumer := t.consumer(pulsar.ConsumerOptions{})
	t.values(consumer, 2)
	consumer.Close()
	t.expect(t.values(t.consumer(pulsar.ConsumerOptions{}), 2), "v2", "v3")
}

func TestAConnectedSubscriptionKeepsItsType(tt *testing.T) {
	t := start(tt)
	t.consumer(pulsar.ConsumerOptions{})
	_, err := t.tryConsumer(pulsar.ConsumerOptions{Type: pulsar.Shared})
	t.expectError(err, "ConsumerBusy")
}

func TestUnsubscribingForgetsTheSubscription(tt *testing.T) {
	t := start(tt)
	t.must(t.consumer(pulsar.ConsumerOptions{}).Unsubscribe())
	subscriptions, err := t.admin.Subscriptions().List(t.topicName())
	t.must(err)
	t.expect(subscriptions)
}
