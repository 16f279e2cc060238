package clients

import (
	"strings"
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"
)

func chunking(size uint) pulsar.ProducerOptions {
	return pulsar.ProducerOptions{DisableBatching: true, EnableChunking: true, ChunkMaxMessageSize: size}
}

func TestAMessageBeyondTheSizeLimitArrivesWhole(tt *testing.T) {
	t := start(tt)
	large := strings.Repeat("x", 12<<20)
	consumer := t.consumer(pulsar.ConsumerOptions{})
	t.send(t.producer(chunking(0)), large)
	if t.values(consumer, 1)[0] != large {
		t.Fatal("the value changed")
	}
	t.eventually("no backlog", func() bool { return t.backlog() == 0 })
}

func TestChunksOfSeveralProducersMayAlternate(tt *testing.T) {
	t := start(tt)
	consumer := t.consumer(pulsar.ConsumerOptions{})
	var want []string
	done := make(chan struct{}, 3)
	for _, letter := range []string{"a", "b", "c"} {
		value := strings.Repeat(letter, 50_000)
		want = append(want, value)
		producer := t.producer(chunking(1000))
		go func() {
			defer func() { done <- struct{}{} }()
			t.send(producer, value)
		}()
	}
	t.expectSet(t.values(consumer, 3), want...)
	for range 3 {
		<-done
	}
}

func TestSharedConsumersGetWholeMessages(tt *testing.T) {
	t := start(tt)
	producer := t.producer(chunking(100))
	var want []string
	for _, letter := range []string{"a", "b", "c", "d"} {
		want = append(want, strings.Repeat(letter, 500))
	}
	t.send(producer, want...)
	t.expectSet(t.values(t.consumer(shared(100)), 4), want...)
}
