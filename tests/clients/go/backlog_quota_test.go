package clients

import (
	"slices"
	"strings"
	"testing"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/apache/pulsar-client-go/pulsaradmin/pkg/utils"
)

// exceed leaves 20 kB of backlog where 10 are allowed, in one burst: the broker may look at any moment.
func (t *test) exceed(policy utils.RetentionPolicy) {
	t.Helper()
	namespace := t.newNamespace()
	t.must(t.admin.Namespaces().SetBacklogQuota(namespace,
		utils.BacklogQuota{LimitTime: -1, LimitSize: 10_000, Policy: policy}, utils.DestinationStorage))
	t.consumer(pulsar.ConsumerOptions{}).Close()
	producer := t.unbatched()
	t.sendBatch(producer, slices.Repeat([]string{strings.Repeat("x", 1000)}, 20)...)
	producer.Close()
}

func TestAnExceededBacklogRefusesProducers(tt *testing.T) {
	t := start(tt)
	t.exceed(utils.ProducerException)
	t.eventually("refused", func() bool {
		producer, err := t.tryProducer(pulsar.ProducerOptions{})
		if err == nil {
			producer.Close()
		}
		return err != nil && strings.Contains(err.Error(), "ProducerBlockedQuotaExceededException")
	})
}

func TestAnExceededBacklogIsEvicted(tt *testing.T) {
	t := start(tt)
	t.exceed(utils.ConsumerBacklogEviction)
	t.eventually("the backlog has shrunk", func() bool { return t.backlog() <= 10 })
}
