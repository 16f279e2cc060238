package clients

import (
	"strings"
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/apache/pulsar-client-go/pulsaradmin/pkg/utils"
)

func TestTopicStatsAreRead(tt *testing.T) {
	t := start(tt)
	t.consumer(pulsar.ConsumerOptions{}).Close()
	t.send(t.unbatched(), "a", "b")
	stats := t.stats()
	if stats.MsgCounterIn != 2 || stats.StorageSize == 0 || stats.BacklogSize == 0 {
		t.Fatalf("%+v", stats)
	}
	if stats.Subscriptions["s"].MsgBacklog != 2 || !stats.Subscriptions["s"].IsDurable {
		t.Fatalf("%+v", stats.Subscriptions["s"])
	}
}

func TestProducerStatsAreRead(tt *testing.T) {
	t := start(tt)
	producer := t.producer(pulsar.ProducerOptions{Properties: map[string]string{"p": "1"}})
	publisher := t.stats().Publishers[0]
	if publisher.ProducerName != producer.Name() || publisher.Metadata["p"] != "1" || publisher.Address == "" ||
		publisher.ConnectedSince == "" || !strings.Contains(publisher.ClientVersion, "Go") {
		t.Fatalf("%+v", publisher)
	}
}

func TestConsumerStatsAreRead(tt *testing.T) {
	t := start(tt)
	t.send(t.unbatched(), "a", "b")
	consumer := t.consumer(shared(100))
	t.receive(consumer)
	t.eventually("two are unacknowledged", func() bool { return t.stats().Subscriptions["s"].UnAckedMessages == 2 })
	stats := t.stats().Subscriptions["s"]
	if stats.SubType != "Shared" || stats.Consumers[0].UnAckedMessages != 2 ||
		stats.Consumers[0].AvailablePermits != 98 || stats.MsgOutCounter != 2 {
		t.Fatalf("%+v", stats)
	}
}

func TestTheAgeOfTheBacklogIsRead(tt *testing.T) {
	t := start(tt)
	t.consumer(pulsar.ConsumerOptions{}).Close()
	t.send(t.unbatched(), "v")
	stats, err := t.admin.Topics().GetStatsWithOption(t.topicName(),
		utils.GetStatsOptions{SubscriptionBacklogSize: true, GetEarliestTimeInBacklog: true})
	t.must(err)
	subscription := stats.Subscriptions["s"]
	if subscription.EarliestMsgPublishTimeInBacklog == 0 || subscription.BacklogSize == 0 {
		t.Fatalf("%+v", subscription)
	}
}

func TestInternalStatsAreRead(tt *testing.T) {
	t := start(tt)
	t.consumer(pulsar.ConsumerOptions{}).Close()
	t.send(t.unbatched(), "a", "b")
	stats, err := t.admin.Topics().GetInternalStats(t.topicName())
	t.must(err)
	if stats.EntriesAddedCounter != 2 || stats.NumberOfEntries != 2 || len(stats.Ledgers) == 0 ||
		stats.State != "LedgerOpened" || stats.Cursors["s"].NumberOfEntriesSinceFirstNotAckedMessage == 0 {
		t.Fatalf("%+v", stats)
	}
}
