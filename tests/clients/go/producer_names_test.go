package clients

import (
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"
)

func TestTheBrokerMakesUpDifferentNames(tt *testing.T) {
	t := start(tt)
	first, second := t.unbatched().Name(), t.unbatched().Name()
	if first == "" || first == second {
		t.Fatalf("names %q and %q", first, second)
	}
}

func TestAGivenNameTravelsWithTheMessage(tt *testing.T) {
	t := start(tt)
	t.send(t.producer(pulsar.ProducerOptions{Name: "writer"}), "v")
	if name := t.receive(t.consumer(pulsar.ConsumerOptions{})).ProducerName(); name != "writer" {
		t.Fatal(name)
	}
}

func TestANameInUseIsBusy(tt *testing.T) {
	t := start(tt)
	t.producer(pulsar.ProducerOptions{Name: "writer"})
	t.client = newClient(tt)
	_, err := t.tryProducer(pulsar.ProducerOptions{Name: "writer"})
	t.expectError(err, "ProducerBusy")
}

func TestANameIsFreeWhenItsProducerHasClosed(tt *testing.T) {
	t := start(tt)
	t.producer(pulsar.ProducerOptions{Name: "writer"}).Close()
	t.producer(pulsar.ProducerOptions{Name: "writer"})
}
