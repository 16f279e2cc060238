package clients

import (
	"context"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
)

func (t *test) reader(options pulsar.ReaderOptions) pulsar.Reader {
	t.Helper()
	options.Topic = t.topic
	reader, err := t.client.CreateReader(options)
	t.must(err)
	return reader
}

func (t *test) readAll(reader pulsar.Reader) []string {
	t.Helper()
	var values []string
	for reader.HasNext() {
		ctx, cancel := context.WithTimeout(context.Background(), arrives)
		message, err := reader.Next(ctx)
		cancel()
		t.must(err)
		values = append(values, string(message.Payload()))
	}
	return values
}

func TestAReaderReadsEverything(tt *testing.T) {
	t := start(tt)
	t.send(t.unbatched(), numbered("v", 5)...)
	t.expect(t.readAll(t.reader(pulsar.ReaderOptions{StartMessageID: pulsar.EarliestMessageID()})), numbered("v", 5)...)
}

func TestAReaderFromTheLatestReadsWhatComes(tt *testing.T) {
	t := start(tt)
	producer := t.unbatched()
	t.send(producer, "old")
	reader := t.reader(pulsar.ReaderOptions{StartMessageID: pulsar.LatestMessageID()})
	t.send(producer, "new")
	ctx, cancel := context.WithTimeout(context.Background(), arrives)
	defer cancel()
	message, err := reader.Next(ctx)
	t.must(err)
	t.expect([]string{string(message.Payload())}, "new")
}

func TestAReaderBeginsAfterAnIDOrWithIt(tt *testing.T) {
	t := start(tt)
	ids := t.send(t.unbatched(), "a", "b", "c")
	t.expect(t.readAll(t.reader(pulsar.ReaderOptions{StartMessageID: ids[0]})), "b", "c")
	t.expect(t.readAll(t.reader(pulsar.ReaderOptions{StartMessageID: ids[0], StartMessageIDInclusive: true})),
		"a", "b", "c")
}

func TestAReaderBeginsInsideABatch(tt *testing.T) {
	t := start(tt)
	t.sendBatch(t.batched(), numbered("v", 4)...)
	consumer := t.consumer(pulsar.ConsumerOptions{})
	t.receive(consumer)
	second := t.receive(consumer).ID()
	t.expect(t.readAll(t.reader(pulsar.ReaderOptions{StartMessageID: second})), "v2", "v3")
}

func TestAReaderSeeks(tt *testing.T) {
	t := start(tt)
	ids := t.send(t.unbatched(), "a", "b", "c")
	reader := t.reader(pulsar.ReaderOptions{StartMessageID: pulsar.EarliestMessageID(), StartMessageIDInclusive: true})
	t.expect(t.readAll(reader), "a", "b", "c")
	t.must(reader.Seek(ids[1]))
	t.expect(t.readAll(reader), "b", "c")
}

func TestAReaderSeeksByTime(tt *testing.T) {
	t := start(tt)
	t.send(t.unbatched(), "a", "b", "c")
	reader := t.reader(pulsar.ReaderOptions{StartMessageID: pulsar.EarliestMessageID()})
	t.expect(t.readAll(reader), "a", "b", "c")
	t.must(reader.SeekByTime(time.Now().Add(-time.Hour)))
	t.expect(t.readAll(reader), "a", "b", "c")
}
