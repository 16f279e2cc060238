package clients

import (
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"
)

func TestAMessageCarriesTheVersionOfItsSchema(tt *testing.T) {
	t := start(tt)
	t.sendMessage(t.producer(avro(oneField)), &pulsar.ProducerMessage{Value: map[string]any{"a": 1}})
	t.sendMessage(t.producer(avro(optionalField)), &pulsar.ProducerMessage{Value: map[string]any{"a": 1, "b": 2}})
	consumer := t.consumer(pulsar.ConsumerOptions{})
	for version := range 2 {
		if got := t.receive(consumer).SchemaVersion(); len(got) != 8 || int(got[7]) != version {
			t.Fatalf("version %v, wanted %d", got, version)
		}
	}
}

func TestANewReaderDecodesOldMessages(tt *testing.T) {
	t := start(tt)
	t.sendMessage(t.producer(avro(oneField)), &pulsar.ProducerMessage{Value: map[string]any{"a": 1}})
	t.sendMessage(t.producer(avro(optionalField)), &pulsar.ProducerMessage{Value: map[string]any{"a": 2, "b": 3}})
	consumer := t.consumer(pulsar.ConsumerOptions{Schema: pulsar.NewAvroSchema(optionalField, nil)})
	for _, want := range []int{1, 2} {
		value := map[string]any{}
		t.must(t.receive(consumer).GetSchemaValue(&value))
		if value["a"] != want {
			t.Fatalf("got %v, wanted a = %d", value, want)
		}
	}
}
