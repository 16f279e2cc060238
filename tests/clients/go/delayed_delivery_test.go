package clients

import (
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
)

func (t *test) sendLater(producer pulsar.Producer, value string, delay time.Duration) {
	t.Helper()
	t.sendMessage(producer, &pulsar.ProducerMessage{Payload: []byte(value), DeliverAfter: delay})
}

func TestAMessageComesWhenItsTimeHasCome(tt *testing.T) {
	t := start(tt)
	consumer := t.consumer(shared(100))
	producer := t.unbatched()
	sent := time.Now()
	t.sendLater(producer, "later", 2500*time.Millisecond)
	t.send(producer, "now")
	t.expect(t.values(consumer, 2), "now", "later")
	if waited := time.Since(sent); waited < 1500*time.Millisecond || waited > 6*time.Second {
		t.Fatalf("came after %v", waited)
	}
}

func TestTheOrderIsThatOfTheTimes(tt *testing.T) {
	t := start(tt)
	consumer := t.consumer(shared(100))
	producer := t.unbatched()
	t.sendLater(producer, "second", 4500*time.Millisecond)
	t.sendLater(producer, "first", 2*time.Second)
	t.expect(t.values(consumer, 2), "first", "second")
}

func TestAnExclusiveConsumerGetsItAtOnce(tt *testing.T) {
	t := start(tt)
	consumer := t.consumer(pulsar.ConsumerOptions{})
	t.sendLater(t.unbatched(), "later", time.Hour)
	t.expect(t.values(consumer, 1), "later")
}

func TestWhatIsDelayedIsShownApart(tt *testing.T) {
	t := start(tt)
	t.consumer(shared(100))
	t.sendLater(t.unbatched(), "later", time.Hour)
	t.eventually("one is delayed", func() bool { return t.stats().Subscriptions["s"].MsgDelayed == 1 })
}
