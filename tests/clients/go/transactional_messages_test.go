package clients

import (
	"strings"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
)

func TestAChunkedMessageIsSeenAfterTheCommit(tt *testing.T) {
	t := startTransactional(tt)
	large := strings.Repeat("x", 1000)
	consumer := t.consumer(pulsar.ConsumerOptions{})
	transaction := t.begin(time.Minute)
	t.sendIn(transaction, t.producer(chunking(100)), large)
	t.expectQuiet(consumer)
	t.commit(transaction)
	t.expect(t.values(consumer, 1), large)
}

func TestADelayedMessageComesAtItsTimeAfterTheCommit(tt *testing.T) {
	t := startTransactional(tt)
	consumer, producer := t.consumer(shared(100)), t.unbatched()
	transaction := t.begin(time.Minute)
	t.sendMessage(producer, &pulsar.ProducerMessage{
		Transaction: transaction, Payload: []byte("later"), DeliverAfter: 3 * time.Second,
	})
	t.sendIn(transaction, producer, "now")
	t.commit(transaction)
	t.expect(t.values(consumer, 2), "now", "later")
}

func TestAReaderHasNothingNextBehindAnOpenTransaction(tt *testing.T) {
	t := startTransactional(tt)
	producer := t.unbatched()
	t.send(producer, "x")
	transaction := t.begin(time.Minute)
	t.sendIn(transaction, producer, "a")
	reader := t.reader(pulsar.ReaderOptions{StartMessageID: pulsar.EarliestMessageID()})
	t.expect(t.readAll(reader), "x")
	t.commit(transaction)
	t.expect(t.readAll(reader), "a")
}

func TestCompactionLeavesOutAbortedValues(tt *testing.T) {
	t := startTransactional(tt)
	producer := t.unbatched()
	put := func(transaction pulsar.Transaction, value string) {
		t.sendMessage(producer, &pulsar.ProducerMessage{Transaction: transaction, Key: "k", Payload: []byte(value)})
	}
	committed, aborted := t.begin(time.Minute), t.begin(time.Minute)
	put(committed, "old")
	put(committed, "new")
	put(aborted, "never")
	t.commit(committed)
	t.abort(aborted)
	t.compact()
	t.expect(t.readAll(t.reader(pulsar.ReaderOptions{StartMessageID: pulsar.EarliestMessageID(), ReadCompacted: true})),
		"new")
}
