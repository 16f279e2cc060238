package clients

import (
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/apache/pulsar-client-go/pulsaradmin/pkg/utils"
)

const (
	oneField      = `{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}`
	optionalField = `{"type":"record","name":"R","fields":[{"name":"a","type":"int"},` +
		`{"name":"b","type":"int","default":0}]}`
	requiredField = `{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"int"}]}`
)

func avro(definition string) pulsar.ProducerOptions {
	return pulsar.ProducerOptions{Schema: pulsar.NewAvroSchema(definition, nil)}
}

func TestAnIncompatibleProducerIsRefused(tt *testing.T) {
	t := start(tt)
	t.producer(avro(oneField))
	_, err := t.tryProducer(avro(requiredField))
	t.expectError(err, "IncompatibleSchema")
}

func TestAnIncompatibleConsumerIsRefused(tt *testing.T) {
	t := start(tt)
	t.producer(avro(oneField))
	_, err := t.tryConsumer(pulsar.ConsumerOptions{Schema: pulsar.NewAvroSchema(requiredField, nil)})
	t.expectError(err, "IncompatibleSchema")
}

func TestACompatibleSchemaIsTheNextVersion(tt *testing.T) {
	t := start(tt)
	t.producer(avro(oneField))
	t.producer(avro(optionalField))
	latest, err := t.admin.Schemas().GetSchemaInfoWithVersion(t.topic)
	t.must(err)
	if latest.Version != 1 {
		t.Fatalf("version %d", latest.Version)
	}
}

func TestTheStrategyOfANamespaceDecides(tt *testing.T) {
	t := start(tt)
	name, err := utils.GetNamespaceName(t.newNamespace())
	t.must(err)
	t.must(t.admin.Namespaces().SetSchemaCompatibilityStrategy(*name, utils.SchemaCompatibilityStrategyForward))
	t.producer(avro(oneField))
	t.producer(avro(requiredField))
}
