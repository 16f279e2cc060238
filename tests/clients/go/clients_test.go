// Package clients shows the official Go client at work against the broker of PULSAR_SERVICE_URL and PULSAR_ADMIN_URL.
//
// A file is a feature, a test is one behaviour. Tests run beside each other, each on topics of its own.
package clients

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	pulsarlog "github.com/apache/pulsar-client-go/pulsar/log"
	"github.com/apache/pulsar-client-go/pulsaradmin/pkg/admin"
	"github.com/apache/pulsar-client-go/pulsaradmin/pkg/admin/config"
	"github.com/apache/pulsar-client-go/pulsaradmin/pkg/utils"
	"github.com/sirupsen/logrus"
)

const (
	arrives = 15 * time.Second
	quiet   = 400 * time.Millisecond
	polling = 20 * time.Millisecond
)

// test is what every test starts from: a client of its own and the name of a topic nobody else uses.
type test struct {
	*testing.T
	client pulsar.Client
	admin  admin.Client
	topic  string
}

func start(t *testing.T) *test {
	t.Parallel()
	adminClient, err := admin.New(&config.Config{
		WebServiceURL:         required(t, "PULSAR_ADMIN_URL"),
		Token:                 os.Getenv("PULSAR_TOKEN"),
		TLSTrustCertsFilePath: os.Getenv("PULSAR_TRUST_CERTS"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &test{T: t, client: newClient(t), admin: adminClient, topic: newTopic("public/default")}
}

func newClient(t *testing.T) pulsar.Client { return newClientOf(t, clientOptions(t)) }

func clientOptions(t *testing.T) pulsar.ClientOptions {
	var authentication pulsar.Authentication // nil unless the broker under test needs a token
	if token := os.Getenv("PULSAR_TOKEN"); token != "" {
		authentication = pulsar.NewAuthenticationToken(token)
	}
	return pulsar.ClientOptions{
		URL:                   required(t, "PULSAR_SERVICE_URL"),
		Authentication:        authentication,
		TLSTrustCertsFilePath: os.Getenv("PULSAR_TRUST_CERTS"),
	}
}

func newClientOf(t *testing.T, options pulsar.ClientOptions) pulsar.Client {
	quietLog := logrus.New()
	quietLog.SetOutput(io.Discard)
	if options.OperationTimeout == 0 {
		options.OperationTimeout = arrives
	}
	options.Logger = pulsarlog.NewLoggerWithLogrus(quietLog)
	client, err := pulsar.NewClient(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func required(t *testing.T, variable string) string {
	value := os.Getenv(variable)
	if value == "" {
		t.Fatalf("%s is not set; tests/clients/run.py sets it", variable)
	}
	return value
}

func unique() string {
	random := make([]byte, 6)
	_, _ = rand.Read(random)
	return "go-" + hex.EncodeToString(random)
}

func newTopic(namespace string) string { return "persistent://" + namespace + "/" + unique() }

// newNamespace makes a namespace and moves the test's topic into it.
func (t *test) newNamespace() string {
	namespace := "public/" + unique()
	t.must(t.admin.Namespaces().CreateNamespace(namespace))
	t.topic = newTopic(namespace)
	return namespace
}

func (t *test) must(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (t *test) topicName() utils.TopicName { return t.named(t.topic) }

func (t *test) named(topic string) utils.TopicName {
	t.Helper()
	name, err := utils.GetTopicName(topic)
	t.must(err)
	return *name
}

func (t *test) producer(options pulsar.ProducerOptions) pulsar.Producer {
	t.Helper()
	producer, err := t.tryProducer(options)
	t.must(err)
	return producer
}

func (t *test) tryProducer(options pulsar.ProducerOptions) (pulsar.Producer, error) {
	if options.Topic == "" {
		options.Topic = t.topic
	}
	return t.client.CreateProducer(options)
}

// unbatched is a producer that sends each message at once.
func (t *test) unbatched() pulsar.Producer {
	t.Helper()
	return t.producer(pulsar.ProducerOptions{DisableBatching: true})
}

// batched is a producer whose batches end only with Flush.
func (t *test) batched() pulsar.Producer {
	t.Helper()
	return t.producer(pulsar.ProducerOptions{BatchingMaxPublishDelay: time.Hour})
}

// consumer subscribes from the beginning of the topic as "s", unless the options say otherwise.
func (t *test) consumer(options pulsar.ConsumerOptions) pulsar.Consumer {
	t.Helper()
	consumer, err := t.tryConsumer(options)
	t.must(err)
	return consumer
}

func (t *test) tryConsumer(options pulsar.ConsumerOptions) (pulsar.Consumer, error) {
	if options.Topic == "" && options.Topics == nil && options.TopicsPattern == "" {
		options.Topic = t.topic
	}
	if options.SubscriptionName == "" {
		options.SubscriptionName = "s"
	}
	options.SubscriptionInitialPosition = pulsar.SubscriptionPositionEarliest
	return t.client.Subscribe(options)
}

func (t *test) send(producer pulsar.Producer, values ...string) []pulsar.MessageID {
	t.Helper()
	var ids []pulsar.MessageID
	for _, value := range values {
		ids = append(ids, t.sendMessage(producer, &pulsar.ProducerMessage{Payload: []byte(value)}))
	}
	return ids
}

func (t *test) sendMessage(producer pulsar.Producer, message *pulsar.ProducerMessage) pulsar.MessageID {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), arrives)
	defer cancel()
	id, err := producer.Send(ctx, message)
	t.must(err)
	return id
}

func (t *test) sendBatch(producer pulsar.Producer, values ...string) {
	t.Helper()
	for _, value := range values {
		producer.SendAsync(context.Background(), &pulsar.ProducerMessage{Payload: []byte(value)},
			func(pulsar.MessageID, *pulsar.ProducerMessage, error) {})
	}
	t.must(producer.Flush())
}

func (t *test) receive(consumer pulsar.Consumer) pulsar.Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), arrives)
	defer cancel()
	message, err := consumer.Receive(ctx)
	t.must(err)
	return message
}

// values are the payloads of the next messages, which are acknowledged.
func (t *test) values(consumer pulsar.Consumer, count int) []string {
	t.Helper()
	var values []string
	for range count {
		message := t.receive(consumer)
		t.must(consumer.Ack(message))
		values = append(values, string(message.Payload()))
	}
	return values
}

func (t *test) expect(got []string, want ...string) {
	t.Helper()
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Fatalf("got %v, wanted %v", got, want)
	}
}

func (t *test) expectQuiet(consumer pulsar.Consumer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), quiet)
	defer cancel()
	if message, err := consumer.Receive(ctx); err == nil {
		t.Fatalf("unexpected: %s", message.Payload())
	}
}

func (t *test) expectError(err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Fatalf("got error %v, wanted one with %q", err, part)
	}
}

// eventually returns when the condition holds, and fails the test after a deadline.
func (t *test) eventually(what string, condition func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(polling)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline:
			t.Fatalf("%s: not within 20 s", what)
		case <-tick.C:
		}
	}
}

func (t *test) stats() utils.TopicStats {
	t.Helper()
	stats, err := t.admin.Topics().GetStats(t.topicName())
	t.must(err)
	return stats
}

func (t *test) backlog() int64 { return t.stats().Subscriptions["s"].MsgBacklog }

func numbered(prefix string, count int) []string {
	var values []string
	for i := range count {
		values = append(values, fmt.Sprintf("%s%d", prefix, i))
	}
	return values
}
