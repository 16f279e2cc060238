package clients

import (
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"
)

func TestANewProducerOfATerminatedTopicIsRefused(tt *testing.T) {
	t := start(tt)
	t.send(t.unbatched(), "v")
	last, err := t.admin.Topics().Terminate(t.topicName())
	t.must(err)
	if last.EntryID != 0 {
		t.Fatalf("terminated at %v", last)
	}
	_, err = t.tryProducer(pulsar.ProducerOptions{})
	t.expectError(err, "TopicTerminated")
}

func TestATerminatedTopicIsReadToItsEnd(tt *testing.T) {
	t := start(tt)
	t.send(t.unbatched(), "a", "b")
	_, err := t.admin.Topics().Terminate(t.topicName())
	t.must(err)
	t.expect(t.values(t.consumer(pulsar.ConsumerOptions{}), 2), "a", "b")
}
