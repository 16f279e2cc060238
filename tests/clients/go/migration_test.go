package clients

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
)

// migrate moves the topic to the other cluster with `pulsarctl migrate --switch`.
func (t *test) migrate() {
	t.Helper()
	if output, err := exec.Command(required(t.T, "MIGRATE"), t.topic).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
}

// inGreen is a client of the other cluster. Tests of migration need a broker of ours to leave, without TLS.
func (t *test) inGreen() *test {
	t.Helper()
	url := os.Getenv("GREEN_SERVICE_URL")
	if url == "" {
		t.Skip("there is no other cluster to move to: the broker under test is Apache Pulsar, or needs TLS")
	}
	return &test{T: t.T, client: newClientOf(t.T, pulsar.ClientOptions{URL: url}), admin: t.admin, topic: t.topic}
}

func TestClientsFollowTheirTopicToAnotherCluster(tt *testing.T) {
	t := start(tt)
	t.topic = newTopic(t.newNamespace())
	green := t.inGreen()
	// A producer that learns of the move while it connects waits for the end of its request before it follows.
	t.client = newClientOf(tt, pulsar.ClientOptions{URL: required(tt, "PULSAR_SERVICE_URL"), OperationTimeout: 4 * time.Second})
	t.consumer(pulsar.ConsumerOptions{SubscriptionName: "kept"}).Close()
	consumer := t.consumer(pulsar.ConsumerOptions{AckWithResponse: true})
	producer := t.unbatched()
	t.send(producer, "first")
	t.expect(t.values(consumer, 1), "first")
	moved := make(chan bool)
	var sent []string
	go func() {
		defer close(moved)
		t.migrate()
	}()
	for under := true; under; {
		select {
		case <-moved:
			under = false
		default:
		}
		value := fmt.Sprintf("v%d", len(sent))
		sent = append(sent, value)
		t.send(producer, value)
		t.valuesUpTo(consumer, value)
	}
	t.send(producer, "last")
	t.valuesUpTo(consumer, "last")
	everything := append(append([]string{"first"}, sent...), "last")
	kept := green.consumer(pulsar.ConsumerOptions{SubscriptionName: "kept"})
	t.expect(t.valuesUpTo(kept, "last"), everything...)
}

// The client skips messages whose IDs are not above its last cumulative acknowledgment. The other cluster is fresh.
func TestAConsumerThatAcknowledgesCumulativelySkipsNothingAfterAMove(tt *testing.T) {
	t := start(tt)
	t.topic = newTopic(t.newNamespace())
	green := t.inGreen()
	consumer := t.consumer(pulsar.ConsumerOptions{})
	t.send(t.unbatched(), numbered("before", 5)...)
	t.must(consumer.AckCumulative(t.receiveMany(consumer, 3)[2]))
	t.receiveMany(consumer, 2)
	t.migrate()
	after := numbered("after", 5)
	t.send(green.unbatched(), after...)
	t.expect(t.valuesUpTo(consumer, after[4]), append(numbered("before", 5)[3:], after...)...)
}

// valuesUpTo receives until that value comes. What comes again, as the switch allows, is counted once.
func (t *test) valuesUpTo(consumer pulsar.Consumer, last string) []string {
	t.Helper()
	var values []string
	seen := map[string]bool{}
	for !seen[last] {
		value := t.values(consumer, 1)[0]
		if !seen[value] {
			seen[value] = true
			values = append(values, value)
		}
	}
	return values
}
