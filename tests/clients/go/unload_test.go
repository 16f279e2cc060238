package clients

import (
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"
)

func TestProducersAndConsumersComeBackAfterAnUnload(tt *testing.T) {
	t := start(tt)
	consumer := t.consumer(pulsar.ConsumerOptions{AckWithResponse: true})
	producer := t.unbatched()
	t.send(producer, "before")
	t.expect(t.values(consumer, 1), "before")
	t.eventually("the acknowledgement has arrived", func() bool { return t.backlog() == 0 })
	t.must(t.admin.Topics().Unload(t.topicName()))
	t.send(producer, "after")
	t.eventually("the new message has come", func() bool { return t.values(consumer, 1)[0] == "after" })
}
