package clients

import (
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
)

func exclusive() pulsar.ProducerOptions {
	return pulsar.ProducerOptions{ProducerAccessMode: pulsar.ProducerAccessModeExclusive}
}

func TestASecondExclusiveProducerIsFenced(tt *testing.T) {
	t := start(tt)
	t.producer(exclusive())
	_, err := t.tryProducer(exclusive())
	t.expectError(err, "ProducerFenced")
}

func TestASharedProducerIsBusyWhereAnExclusiveOneIs(tt *testing.T) {
	t := start(tt)
	t.producer(exclusive())
	_, err := t.tryProducer(pulsar.ProducerOptions{})
	t.expectError(err, "ProducerBusy")
}

func TestTheNextExclusiveProducerGetsIn(tt *testing.T) {
	t := start(tt)
	t.producer(exclusive()).Close()
	t.send(t.producer(exclusive()), "in")
	t.expect(t.values(t.consumer(pulsar.ConsumerOptions{}), 1), "in")
}

func TestAWaitingProducerGetsInWhenTheExclusiveOneLeaves(tt *testing.T) {
	t := start(tt)
	first := t.producer(exclusive())
	created := make(chan error, 1)
	go func() {
		producer, err := t.tryProducer(pulsar.ProducerOptions{
			ProducerAccessMode: pulsar.ProducerAccessModeWaitForExclusive})
		if err == nil {
			defer producer.Close()
		}
		created <- err
	}()
	select {
	case <-created:
		t.Fatal("it did not wait")
	case <-time.After(quiet):
	}
	first.Close()
	select {
	case err := <-created:
		t.must(err)
	case <-time.After(arrives):
		t.Fatal("it was not let in")
	}
}

func TestProducerStatsShowTheAccessMode(tt *testing.T) {
	t := start(tt)
	t.producer(exclusive())
	if mode := t.stats().Publishers[0].AccessModel; mode != "Exclusive" {
		t.Fatalf("access mode %s", mode)
	}
}
