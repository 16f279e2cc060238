package clients

import (
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
)

func TestAMessageForLaterComesAgainAfterItsDelay(tt *testing.T) {
	t := start(tt)
	t.send(t.unbatched(), "v")
	consumer := t.consumer(pulsar.ConsumerOptions{Type: pulsar.Shared, RetryEnable: true})
	message := t.receive(consumer)
	put := time.Now()
	consumer.ReconsumeLater(message, 2*time.Second)
	again := t.receive(consumer)
	if waited := time.Since(put); waited < 900*time.Millisecond {
		t.Fatalf("came again after %v", waited)
	}
	if string(again.Payload()) != "v" || again.Properties()["RECONSUMETIMES"] != "1" {
		t.Fatalf("%s with %v", again.Payload(), again.Properties())
	}
}

func TestAfterTheLastRetryTheMessageIsADeadLetter(tt *testing.T) {
	t := start(tt)
	t.send(t.unbatched(), "v")
	dead := t.consumer(pulsar.ConsumerOptions{Topic: t.topic + "-s-DLQ"})
	consumer := t.consumer(pulsar.ConsumerOptions{Type: pulsar.Shared, RetryEnable: true,
		DLQ: &pulsar.DLQPolicy{MaxDeliveries: 2}})
	for range 3 {
		consumer.ReconsumeLater(t.receive(consumer), time.Millisecond)
	}
	t.expect(t.values(dead, 1), "v")
}
