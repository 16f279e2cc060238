package clients

import (
	"context"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
)

func partitioned(tt *testing.T, partitions int) *test {
	t := start(tt)
	t.must(t.admin.Topics().Create(t.topicName(), partitions))
	return t
}

func TestAClientSeesThePartitions(tt *testing.T) {
	t := partitioned(tt, 2)
	names, err := t.client.TopicPartitions(t.topic)
	t.must(err)
	t.expect(names, t.topic+"-partition-0", t.topic+"-partition-1")
}

func TestEveryPartitionIsUsed(tt *testing.T) {
	t := partitioned(tt, 3)
	consumer := t.consumer(pulsar.ConsumerOptions{})
	t.send(t.unbatched(), numbered("v", 9)...)
	t.expectSet(t.values(consumer, 9), numbered("v", 9)...)
	stats, err := t.admin.Topics().GetPartitionedStats(t.topicName(), true)
	t.must(err)
	for name, partition := range stats.Partitions {
		if partition.MsgCounterIn == 0 {
			t.Fatalf("nothing in %s", name)
		}
	}
}

func TestALiveProducerAndConsumerUseNewPartitions(tt *testing.T) {
	t := partitioned(tt, 1)
	consumer := t.consumer(pulsar.ConsumerOptions{Type: pulsar.Shared, AutoDiscoveryPeriod: time.Second})
	producer := t.producer(pulsar.ProducerOptions{DisableBatching: true, PartitionsAutoDiscoveryInterval: time.Second})
	t.must(t.admin.Topics().Update(t.topicName(), 3))
	seen := map[string]bool{}
	t.eventually("messages of all three partitions", func() bool {
		t.send(producer, "v")
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if message, err := consumer.Receive(ctx); err == nil {
			seen[message.Topic()] = true
		}
		return len(seen) == 3
	})
}
