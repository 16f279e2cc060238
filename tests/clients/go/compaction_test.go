package clients

import (
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"
)

func TestACompactedReadShowsTheLastValueOfEachKey(tt *testing.T) {
	t := start(tt)
	producer := t.unbatched()
	for _, pair := range [][2]string{{"a", "1"}, {"b", "2"}, {"a", "3"}} {
		t.sendMessage(producer, &pulsar.ProducerMessage{Key: pair[0], Payload: []byte(pair[1])})
	}
	t.compact()
	t.expect(t.readAll(t.reader(pulsar.ReaderOptions{StartMessageID: pulsar.EarliestMessageID(), ReadCompacted: true})),
		"2", "3")
}

func (t *test) compact() {
	t.Helper()
	t.must(t.admin.Topics().Compact(t.topicName()))
	t.eventually("compacted", func() bool {
		status, err := t.admin.Topics().CompactStatus(t.topicName())
		return err == nil && status.Status == "SUCCESS"
	})
}

func TestACompactedReadGoesOnWithNewMessages(tt *testing.T) {
	t := start(tt)
	producer := t.unbatched()
	put := func(value string) { t.sendMessage(producer, &pulsar.ProducerMessage{Key: "a", Payload: []byte(value)}) }
	put("1")
	put("2")
	t.compact()
	put("3")
	t.expect(t.readAll(t.reader(pulsar.ReaderOptions{StartMessageID: pulsar.EarliestMessageID(), ReadCompacted: true})),
		"2", "3")
}
