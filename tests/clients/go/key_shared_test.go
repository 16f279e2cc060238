package clients

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
)

const keys = 40

func (t *test) keyShared(name string, policy *pulsar.KeySharedPolicy) pulsar.Consumer {
	t.Helper()
	return t.consumer(pulsar.ConsumerOptions{Type: pulsar.KeyShared, Name: name, KeySharedPolicy: policy})
}

func (t *test) sticky(from, to int) *pulsar.KeySharedPolicy {
	t.Helper()
	policy, err := pulsar.NewKeySharedPolicySticky([]int{from, to})
	t.must(err)
	return policy
}

func (t *test) sendRounds(producer pulsar.Producer, rounds int) {
	t.Helper()
	for round := range rounds {
		for key := range keys {
			producer.SendAsync(context.Background(),
				&pulsar.ProducerMessage{Key: fmt.Sprint("k", key), Payload: []byte(fmt.Sprint(round))},
				func(pulsar.MessageID, *pulsar.ProducerMessage, error) {})
		}
	}
	t.must(producer.Flush())
}

// drain is everything that arrives until it is quiet, acknowledged, by key.
func (t *test) drain(consumer pulsar.Consumer) map[string][]string {
	values := map[string][]string{}
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		message, err := consumer.Receive(ctx)
		cancel()
		if err != nil {
			return values
		}
		t.must(consumer.Ack(message))
		values[message.Key()] = append(values[message.Key()], string(message.Payload()))
	}
}

func (t *test) expectDisjointAndWhole(a, b map[string][]string, rounds int) {
	t.Helper()
	if len(a) == 0 || len(b) == 0 || len(a)+len(b) != keys {
		t.Fatalf("%d and %d of %d keys", len(a), len(b), keys)
	}
	for key, values := range a {
		if b[key] != nil {
			t.Fatalf("%s went to both", key)
		}
		t.expect(values, numbered("", rounds)...)
	}
	for _, values := range b {
		t.expect(values, numbered("", rounds)...)
	}
}

func TestEachKeyHasOneConsumerAndKeepsItsOrder(tt *testing.T) {
	t := start(tt)
	a, b := t.keyShared("a", nil), t.keyShared("b", nil)
	t.sendRounds(t.unbatched(), 5)
	t.expectDisjointAndWhole(t.drain(a), t.drain(b), 5)
}

func TestBatchesPerKeyKeepTheOrderToo(tt *testing.T) {
	t := start(tt)
	a, b := t.keyShared("a", nil), t.keyShared("b", nil)
	t.sendRounds(t.producer(pulsar.ProducerOptions{BatcherBuilderType: pulsar.KeyBasedBatchBuilder}), 5)
	t.expectDisjointAndWhole(t.drain(a), t.drain(b), 5)
}

func TestAStickyConsumerGetsTheHashesOfItsRange(tt *testing.T) {
	t := start(tt)
	low, high := t.keyShared("low", t.sticky(0, 32767)), t.keyShared("high", t.sticky(32768, 65535))
	t.sendRounds(t.unbatched(), 3)
	t.expectDisjointAndWhole(t.drain(low), t.drain(high), 3)
}

func TestStickyRangesMayNotOverlap(tt *testing.T) {
	t := start(tt)
	t.keyShared("low", t.sticky(0, 32767))
	_, err := t.tryConsumer(pulsar.ConsumerOptions{Type: pulsar.KeyShared, KeySharedPolicy: t.sticky(30000, 65535)})
	t.expectError(err, "ConsumerAssignError")
}

func TestANewcomerGetsNoKeyThatIsStillHeldElsewhere(tt *testing.T) {
	t := start(tt)
	a := t.keyShared("a", nil)
	producer := t.unbatched()
	t.sendRounds(producer, 1)
	var held []pulsar.Message
	for range keys {
		held = append(held, t.receive(a))
	}
	b := t.keyShared("b", nil)
	t.sendRounds(producer, 1)
	t.expectQuiet(b)
	for _, message := range held {
		t.must(a.Ack(message))
	}
	if len(t.drain(b)) == 0 {
		t.Fatal("nothing moved to the newcomer")
	}
}

func TestOneSubscriptionHasOneMode(tt *testing.T) {
	t := start(tt)
	t.keyShared("low", t.sticky(0, 32767))
	_, err := t.tryConsumer(pulsar.ConsumerOptions{Type: pulsar.KeyShared})
	if err == nil || !strings.Contains(err.Error(), "ConsumerBusy") {
		t.Fatal(err)
	}
}
