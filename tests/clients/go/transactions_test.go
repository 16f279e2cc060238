package clients

import (
	"context"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
)

// startTransactional is start with a client that may begin transactions.
func startTransactional(tt *testing.T) *test {
	t := start(tt)
	options := clientOptions(tt)
	options.EnableTransaction = true
	t.client = newClientOf(tt, options)
	return t
}

func (t *test) begin(timeout time.Duration) pulsar.Transaction {
	t.Helper()
	transaction, err := t.client.NewTransaction(timeout)
	t.must(err)
	return transaction
}

func (t *test) commit(transaction pulsar.Transaction) {
	t.Helper()
	t.must(transaction.Commit(context.Background()))
}

func (t *test) abort(transaction pulsar.Transaction) {
	t.Helper()
	t.must(transaction.Abort(context.Background()))
}

func (t *test) sendIn(transaction pulsar.Transaction, producer pulsar.Producer, values ...string) {
	t.Helper()
	for _, value := range values {
		t.sendMessage(producer, &pulsar.ProducerMessage{Transaction: transaction, Payload: []byte(value)})
	}
}

func TestMessagesOfATransactionAreSeenAfterTheCommit(tt *testing.T) {
	t := startTransactional(tt)
	consumer, producer := t.consumer(pulsar.ConsumerOptions{}), t.unbatched()
	transaction := t.begin(time.Minute)
	t.sendIn(transaction, producer, "a", "b")
	t.expectQuiet(consumer)
	t.commit(transaction)
	t.expect(t.values(consumer, 2), "a", "b")
}

func TestMessagesOfAnAbortedTransactionAreNeverSeen(tt *testing.T) {
	t := startTransactional(tt)
	consumer, producer := t.consumer(pulsar.ConsumerOptions{}), t.unbatched()
	transaction := t.begin(time.Minute)
	t.sendIn(transaction, producer, "a")
	t.abort(transaction)
	t.send(producer, "x")
	t.expect(t.values(consumer, 1), "x")
}

func TestLaterMessagesWaitForAnOpenTransaction(tt *testing.T) {
	t := startTransactional(tt)
	consumer, producer := t.consumer(pulsar.ConsumerOptions{}), t.unbatched()
	older, younger := t.begin(time.Minute), t.begin(time.Minute)
	t.sendIn(older, producer, "a")
	t.sendIn(younger, producer, "b")
	t.send(producer, "x")
	t.commit(younger)
	t.expectQuiet(consumer)
	t.commit(older)
	t.expect(t.values(consumer, 3), "a", "b", "x")
}

func TestTopicsAndPartitionsAreCommittedTogether(tt *testing.T) {
	t := startTransactional(tt)
	t.must(t.admin.Topics().Create(t.topicName(), 3))
	other := newTopic("public/default")
	consumer := t.consumer(pulsar.ConsumerOptions{Topics: []string{t.topic, other}})
	transaction := t.begin(time.Minute)
	t.sendIn(transaction, t.unbatched(), numbered("v", 6)...)
	t.sendIn(transaction, t.producer(pulsar.ProducerOptions{Topic: other, DisableBatching: true}), "v6")
	t.expectQuiet(consumer)
	t.commit(transaction)
	t.expectSet(t.values(consumer, 7), numbered("v", 7)...)
}

func TestATransactionThatTimesOutIsAborted(tt *testing.T) {
	t := startTransactional(tt)
	consumer, producer := t.consumer(pulsar.ConsumerOptions{}), t.unbatched()
	transaction := t.begin(2 * time.Second)
	t.sendIn(transaction, producer, "a")
	t.send(producer, "x")
	t.expect(t.values(consumer, 1), "x")
	// The client has a clock of its own, which starts after that of the broker.
	t.eventually("the timeout of the client", func() bool { return transaction.GetState() == pulsar.TxnTimeout })
	t.expectError(transaction.Commit(context.Background()), "TxnTimeout")
}
