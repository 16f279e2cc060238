package clients

import (
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/apache/pulsar-client-go/pulsaradmin/pkg/admin"
)

// deduplicated moves the test to a topic that drops repeated sequence ids.
func deduplicated(tt *testing.T) *test {
	t := start(tt)
	t.must(t.admin.Topics().Create(t.topicName(), 0))
	policies, err := admin.TopicPoliciesOf(t.admin, false)
	t.must(err)
	t.must(policies.SetDeduplicationStatus(tt.Context(), t.topicName(), true))
	t.eventually("deduplication is on", func() bool { return t.stats().DeDuplicationStatus == "Enabled" })
	return t
}

func (t *test) sendNumbered(producer pulsar.Producer, sequence int64, value string) {
	t.Helper()
	t.sendMessage(producer, &pulsar.ProducerMessage{SequenceID: &sequence, Payload: []byte(value)})
}

func writer() pulsar.ProducerOptions {
	return pulsar.ProducerOptions{Name: "writer", DisableBatching: true}
}

func TestARepeatedSequenceIDIsDropped(tt *testing.T) {
	t := deduplicated(tt)
	producer := t.producer(writer())
	t.sendNumbered(producer, 1, "first")
	t.sendNumbered(producer, 1, "again")
	t.sendNumbered(producer, 2, "second")
	t.expect(t.values(t.consumer(pulsar.ConsumerOptions{}), 2), "first", "second")
}

func TestAProducerThatComesBackGoesOnCounting(tt *testing.T) {
	t := deduplicated(tt)
	producer := t.producer(writer())
	t.sendNumbered(producer, 41, "v")
	producer.Close()
	producer = t.producer(writer())
	t.send(producer, "next")
	if last := producer.LastSequenceID(); last != 42 {
		t.Fatalf("the next sequence id was %d", last)
	}
}

func TestADuplicateIsRecognisedAfterAnUnload(tt *testing.T) {
	t := deduplicated(tt)
	producer := t.producer(writer())
	t.sendNumbered(producer, 1, "first")
	producer.Close()
	t.must(t.admin.Topics().Unload(t.topicName()))
	producer = t.producer(writer())
	t.sendNumbered(producer, 1, "again")
	t.sendNumbered(producer, 2, "second")
	t.expect(t.values(t.consumer(pulsar.ConsumerOptions{}), 2), "first", "second")
}
