package clients

import (
	"context"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
)

func (t *test) acknowledgeIn(transaction pulsar.Transaction, consumer pulsar.Consumer, messages ...pulsar.Message) {
	t.Helper()
	for _, message := range messages {
		t.must(consumer.AckWithTxn(message, transaction))
	}
}

func TestMessagesStayInTheBacklogUntilTheCommit(tt *testing.T) {
	t := startTransactional(tt)
	t.send(t.unbatched(), "a", "b")
	consumer := t.consumer(shared(100))
	transaction := t.begin(time.Minute)
	t.acknowledgeIn(transaction, consumer, t.receiveMany(consumer, 2)...)
	if backlog := t.backlog(); backlog != 2 {
		t.Fatalf("a backlog of %d before the commit", backlog)
	}
	t.commit(transaction)
	if backlog := t.backlog(); backlog != 0 {
		t.Fatalf("a backlog of %d after the commit", backlog)
	}
}

func TestMessagesComeAgainAfterTheAbort(tt *testing.T) {
	t := startTransactional(tt)
	t.send(t.unbatched(), "a", "b")
	consumer := t.consumer(shared(100))
	transaction := t.begin(time.Minute)
	t.acknowledgeIn(transaction, consumer, t.receiveMany(consumer, 2)[0])
	t.expectQuiet(consumer)
	t.abort(transaction)
	message := t.receive(consumer)
	t.expect([]string{string(message.Payload())}, "a")
	if message.RedeliveryCount() != 1 {
		t.Fatalf("redelivered %d times", message.RedeliveryCount())
	}
}

func TestMessagesComeAgainAfterTheTimeout(tt *testing.T) {
	t := startTransactional(tt)
	t.send(t.unbatched(), "a")
	consumer := t.consumer(shared(100))
	message := t.receive(consumer)
	t.acknowledgeIn(t.begin(2*time.Second), consumer, message)
	t.expect(t.values(consumer, 1), "a")
}

func TestConsumingAndProducingIsOneStep(tt *testing.T) {
	t := startTransactional(tt)
	t.send(t.unbatched(), "a")
	target := newTopic("public/default")
	consumer, results := t.consumer(shared(100)), t.consumer(pulsar.ConsumerOptions{Topic: target})
	producer := t.producer(pulsar.ProducerOptions{Topic: target, DisableBatching: true})
	transform := func(result string) pulsar.Transaction {
		transaction := t.begin(time.Minute)
		t.acknowledgeIn(transaction, consumer, t.receive(consumer))
		t.sendIn(transaction, producer, result)
		return transaction
	}
	t.abort(transform("failed"))
	t.commit(transform("done"))
	t.expect(t.values(results, 1), "done")
	if backlog := t.backlog(); backlog != 0 {
		t.Fatalf("a backlog of %d after the commit", backlog)
	}
}

func TestAMessageIsHeldByOneTransaction(tt *testing.T) {
	t := startTransactional(tt)
	t.send(t.unbatched(), "a")
	consumer := t.consumer(shared(100))
	message := t.receive(consumer)
	first, second := t.begin(time.Minute), t.begin(time.Minute)
	t.acknowledgeIn(first, consumer, message)
	t.expectError(consumer.AckWithTxn(message, second), "TransactionConflict")
	t.expectError(second.Commit(context.Background()), "TxnError")
	t.commit(first)
}

func TestAChunkedMessageIsAcknowledgedInATransaction(tt *testing.T) {
	t := startTransactional(tt)
	consumer := t.consumer(pulsar.ConsumerOptions{})
	t.send(t.producer(chunking(100)), string(make([]byte, 1000)))
	transaction := t.begin(time.Minute)
	t.acknowledgeIn(transaction, consumer, t.receive(consumer))
	t.commit(transaction)
	if backlog := t.backlog(); backlog != 0 {
		t.Fatalf("a backlog of %d after the commit", backlog)
	}
}
