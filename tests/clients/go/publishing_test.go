package clients

import (
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
)

func TestAMessageArrivesWithAllThatWasSaidAboutIt(tt *testing.T) {
	t := start(tt)
	eventTime := time.UnixMilli(7)
	id := t.sendMessage(t.unbatched(), &pulsar.ProducerMessage{Payload: []byte("v"), Key: "k", OrderingKey: "o",
		Properties: map[string]string{"p": "1"}, EventTime: eventTime})
	message := t.receive(t.consumer(pulsar.ConsumerOptions{}))
	if string(message.Payload()) != "v" || message.Key() != "k" || message.OrderingKey() != "o" ||
		message.Properties()["p"] != "1" || !message.EventTime().Equal(eventTime) || message.Topic() != t.topic {
		t.Fatalf("%+v", message)
	}
	if message.ID().LedgerID() != id.LedgerID() || message.ID().EntryID() != id.EntryID() {
		t.Fatalf("sent as %v, received as %v", id, message.ID())
	}
}

func TestCompressedBatchesArriveWhole(tt *testing.T) {
	for name, compression := range map[string]pulsar.CompressionType{
		"LZ4": pulsar.LZ4, "ZLib": pulsar.ZLib, "ZSTD": pulsar.ZSTD, "SNAPPY": pulsar.SNAPPY} {
		tt.Run(name, func(tt *testing.T) {
			t := start(tt)
			t.sendBatch(t.producer(pulsar.ProducerOptions{CompressionType: compression}), numbered("v", 100)...)
			t.expect(t.values(t.consumer(pulsar.ConsumerOptions{}), 100), numbered("v", 100)...)
		})
	}
}

func TestManyMessagesArriveInOrder(tt *testing.T) {
	t := start(tt)
	t.sendBatch(t.producer(pulsar.ProducerOptions{}), numbered("", 5000)...)
	t.expect(t.values(t.consumer(pulsar.ConsumerOptions{}), 5000), numbered("", 5000)...)
}

func TestBatchesPerKeyArriveWhole(tt *testing.T) {
	t := start(tt)
	producer := t.producer(pulsar.ProducerOptions{BatcherBuilderType: pulsar.KeyBasedBatchBuilder})
	for _, key := range []string{"a", "b", "a"} {
		producer.SendAsync(tt.Context(), &pulsar.ProducerMessage{Key: key, Payload: []byte(key)},
			func(pulsar.MessageID, *pulsar.ProducerMessage, error) {})
	}
	t.must(producer.Flush())
	t.expectSet(t.values(t.consumer(pulsar.ConsumerOptions{}), 3), "a", "a", "b")
}
