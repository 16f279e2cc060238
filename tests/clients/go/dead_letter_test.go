package clients

import (
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
)

func (t *test) refuse(consumer pulsar.Consumer, times int) {
	t.Helper()
	for range times {
		consumer.Nack(t.receive(consumer))
	}
}

func (t *test) dying(policy *pulsar.DLQPolicy) pulsar.Consumer {
	t.Helper()
	return t.consumer(pulsar.ConsumerOptions{Type: pulsar.Shared, DLQ: policy,
		NackRedeliveryDelay: 50 * time.Millisecond})
}

func TestAfterTooManyRefusalsAMessageGoesToTheDeadLetterTopic(tt *testing.T) {
	t := start(tt)
	t.sendMessage(t.unbatched(), &pulsar.ProducerMessage{Key: "k", Payload: []byte("poison")})
	letters := newTopic("public/default")
	dead := t.consumer(pulsar.ConsumerOptions{Topic: letters})
	t.refuse(t.dying(&pulsar.DLQPolicy{MaxDeliveries: 2, DeadLetterTopic: letters}), 2)
	letter := t.receive(dead)
	if string(letter.Payload()) != "poison" || letter.Key() != "k" {
		t.Fatalf("%s of %s", letter.Payload(), letter.Key())
	}
	t.eventually("the original is acknowledged", func() bool { return t.backlog() == 0 })
}

func TestAnInitialSubscriptionKeepsTheLettersForLater(tt *testing.T) {
	t := start(tt)
	t.send(t.unbatched(), "poison")
	letters := newTopic("public/default")
	t.refuse(t.dying(&pulsar.DLQPolicy{MaxDeliveries: 1, DeadLetterTopic: letters,
		InitialSubscriptionName: "undertaker"}), 1)
	t.eventually("the letter waits", func() bool {
		stats, err := t.admin.Topics().GetStats(t.named(letters))
		return err == nil && stats.Subscriptions["undertaker"].MsgBacklog == 1
	})
}
