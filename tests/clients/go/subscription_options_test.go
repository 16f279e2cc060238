package clients

import (
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"
)

func TestALatestSubscriptionBeginsWithTheNextMessage(tt *testing.T) {
	t := start(tt)
	producer := t.unbatched()
	t.send(producer, "old")
	consumer, err := t.client.Subscribe(pulsar.ConsumerOptions{Topic: t.topic, SubscriptionName: "s"})
	t.must(err)
	t.send(producer, "new")
	t.expect(t.values(consumer, 1), "new")
}

func TestPropertiesOfASubscriptionAreKept(tt *testing.T) {
	t := start(tt)
	t.consumer(pulsar.ConsumerOptions{SubscriptionProperties: map[string]string{"team": "a"}}).Close()
	if team := t.stats().Subscriptions["s"].SubscriptionProperties["team"]; team != "a" {
		t.Fatalf("team %q", team)
	}
}

func TestANonDurableSubscriptionGoesWithItsConsumer(tt *testing.T) {
	t := start(tt)
	t.consumer(pulsar.ConsumerOptions{SubscriptionMode: pulsar.NonDurable}).Close()
	t.eventually("gone", func() bool { return len(t.stats().Subscriptions) == 0 })
}

func TestTheNameAndPropertiesOfAConsumerAreShown(tt *testing.T) {
	t := start(tt)
	t.consumer(pulsar.ConsumerOptions{Name: "me", Properties: map[string]string{"p": "1"}})
	consumer := t.stats().Subscriptions["s"].Consumers[0]
	if consumer.ConsumerName != "me" || consumer.Metadata["p"] != "1" {
		t.Fatalf("%+v", consumer)
	}
}
