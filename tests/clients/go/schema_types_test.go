package clients

import (
	"reflect"
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

type person struct {
	Name string `json:"name" avro:"name"`
	Age  int    `json:"age" avro:"age"`
}

const personDefinition = `{"type":"record","name":"Person","fields":[` +
	`{"name":"name","type":"string"},{"name":"age","type":"int"}]}`

func TestAValueComesBackByItsSchema(tt *testing.T) {
	text := "text"
	cases := map[string]struct {
		schema pulsar.Schema
		value  any
	}{
		"STRING": {pulsar.NewStringSchema(nil), &text},
		"INT8":   {pulsar.NewInt8Schema(nil), int8(-8)},
		"INT16":  {pulsar.NewInt16Schema(nil), int16(-16)},
		"INT32":  {pulsar.NewInt32Schema(nil), int32(-32)},
		"INT64":  {pulsar.NewInt64Schema(nil), int64(-64)},
		"FLOAT":  {pulsar.NewFloatSchema(nil), float32(1.5)},
		"DOUBLE": {pulsar.NewDoubleSchema(nil), -2.25},
		"JSON":   {pulsar.NewJSONSchema(personDefinition, nil), person{"Ada", 36}},
		"AVRO":   {pulsar.NewAvroSchema(personDefinition, nil), person{"Ada", 36}},
		"PROTOBUF_NATIVE": {pulsar.NewProtoNativeSchemaWithMessage(&wrapperspb.StringValue{}, nil),
			wrapperspb.String("v")},
	}
	for kind, each := range cases {
		tt.Run(kind, func(tt *testing.T) {
			t := start(tt)
			sent := each.value
			if text, isText := sent.(*string); isText {
				sent = *text
			}
			t.sendMessage(t.producer(pulsar.ProducerOptions{Schema: each.schema}), &pulsar.ProducerMessage{Value: sent})
			info, err := t.admin.Schemas().GetSchemaInfo(t.topic)
			t.must(err)
			if info.Type != kind {
				t.Fatalf("registered as %s", info.Type)
			}
			t.expectValue(t.receive(t.consumer(pulsar.ConsumerOptions{Schema: each.schema})), each.value)
		})
	}
}

func (t *test) expectValue(message pulsar.Message, want any) {
	t.Helper()
	if native, isNative := want.(*wrapperspb.StringValue); isNative {
		got := &wrapperspb.StringValue{}
		t.must(message.GetSchemaValue(got))
		if got.GetValue() != native.GetValue() {
			t.Fatalf("got %v", got)
		}
		return
	}
	if text, isText := want.(*string); isText {
		var got *string
		t.must(message.GetSchemaValue(&got))
		t.expect([]string{*got}, *text)
		return
	}
	got := reflect.New(reflect.TypeOf(want))
	t.must(message.GetSchemaValue(got.Interface()))
	if !reflect.DeepEqual(got.Elem().Interface(), want) {
		t.Fatalf("got %v, wanted %v", got.Elem(), want)
	}
}
