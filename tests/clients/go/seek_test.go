package clients

import (
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
)

func TestASeekToAnIDRepeatsFromThere(tt *testing.T) {
	t := start(tt)
	ids := t.send(t.unbatched(), numbered("v", 5)...)
	consumer := t.consumer(pulsar.ConsumerOptions{StartMessageIDInclusive: true})
	t.values(consumer, 5)
	t.must(consumer.Seek(ids[2]))
	t.expect(t.values(consumer, 3), "v2", "v3", "v4")
}

func TestASeekToATimeRepeatsFromThere(tt *testing.T) {
	t := start(tt)
	t.send(t.unbatched(), numbered("v", 3)...)
	consumer := t.consumer(pulsar.ConsumerOptions{})
	t.values(consumer, 3)
	t.must(consumer.SeekByTime(time.Now().Add(-time.Hour)))
	t.expect(t.values(consumer, 3), numbered("v", 3)...)
}

func TestTheAdminResetsASubscription(tt *testing.T) {
	t := start(tt)
	t.send(t.unbatched(), numbered("v", 3)...)
	consumer := t.consumer(pulsar.ConsumerOptions{})
	t.values(consumer, 3)
	consumer.Close()
	t.must(t.admin.Subscriptions().ResetCursorToTimestamp(t.topicName(), "s", time.Now().Add(-time.Hour).UnixMilli()))
	t.expect(t.values(t.consumer(pulsar.ConsumerOptions{}), 3), numbered("v", 3)...)
}
