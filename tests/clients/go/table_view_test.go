package clients

import (
	"reflect"
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"
)

func (t *test) tableView() pulsar.TableView {
	t.Helper()
	view, err := t.client.CreateTableView(pulsar.TableViewOptions{Topic: t.topic,
		Schema: pulsar.NewStringSchema(nil), SchemaValueType: reflect.TypeFor[*string]()})
	t.must(err)
	t.Cleanup(view.Close)
	return view
}

func TestATableViewFollowsTheTopic(tt *testing.T) {
	t := start(tt)
	producer := t.producer(pulsar.ProducerOptions{DisableBatching: true, Schema: pulsar.NewStringSchema(nil)})
	put := func(key, value string) {
		t.sendMessage(producer, &pulsar.ProducerMessage{Key: key, Value: value})
	}
	put("a", "1")
	put("a", "2")
	view := t.tableView()
	holds := func(key, value string) func() bool {
		return func() bool {
			held, ok := view.Get(key).(*string)
			return ok && *held == value
		}
	}
	t.eventually("a is 2", holds("a", "2"))
	put("b", "3")
	t.eventually("b is 3", holds("b", "3"))
	if view.Size() != 2 {
		t.Fatalf("%d keys", view.Size())
	}
}
