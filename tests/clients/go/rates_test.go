package clients

import (
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/apache/pulsar-client-go/pulsaradmin/pkg/utils"
)

const (
	rate     = 20
	messages = 100
	// A second of grace at the start, and one at the end: a limiter may begin with a full bucket.
	atLeast = (messages/rate - 2) * time.Second
)

// namespaceName moves the test into a namespace of its own.
func (t *test) namespaceName() utils.NameSpaceName {
	t.Helper()
	name, err := utils.GetNamespaceName(t.newNamespace())
	t.must(err)
	return *name
}

func (t *test) expectSlow(work func()) {
	t.Helper()
	begin := time.Now()
	work()
	if took := time.Since(begin); took < atLeast {
		t.Fatalf("%d messages took only %v", messages, took)
	}
}

func TestPublishingKeepsToItsRate(tt *testing.T) {
	t := start(tt)
	t.must(t.admin.Namespaces().SetPublishRate(t.namespaceName(),
		utils.PublishRate{PublishThrottlingRateInMsg: rate, PublishThrottlingRateInByte: -1}))
	producer := t.unbatched()
	t.expectSlow(func() { t.send(producer, numbered("v", messages)...) })
}

func TestDispatchKeepsToItsRate(tt *testing.T) {
	t := start(tt)
	t.must(t.admin.Namespaces().SetDispatchRate(t.namespaceName(), utils.DispatchRate{
		DispatchThrottlingRateInMsg: rate, DispatchThrottlingRateInByte: -1, RatePeriodInSecond: 1}))
	consumer := t.consumer(pulsar.ConsumerOptions{})
	t.sendBatch(t.unbatched(), numbered("v", messages)...)
	t.expectSlow(func() { t.values(consumer, messages) })
}
