package clients

import (
	"sync"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
)

// activity remembers what a consumer was told last.
type activity struct {
	mutex  sync.Mutex
	active map[string]bool
}

func newActivity() *activity { return &activity{active: map[string]bool{}} }

func (a *activity) BecameActive(consumer pulsar.Consumer, _ string, _ int32) { a.set(consumer, true) }
func (a *activity) BecameInactive(consumer pulsar.Consumer, _ string, _ int32) {
	a.set(consumer, false)
}

func (a *activity) set(consumer pulsar.Consumer, active bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.active[consumer.Name()] = active
}

func (a *activity) is(name string, active bool) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	told, ever := a.active[name]
	return ever && told == active
}

func (t *test) failover(name string, listener *activity) pulsar.Consumer {
	t.Helper()
	return t.consumer(pulsar.ConsumerOptions{Type: pulsar.Failover, Name: name, EventListener: listener})
}

func TestExactlyOneOfTwoConsumersIsActive(tt *testing.T) {
	t := start(tt)
	heard := newActivity()
	t.failover("a", heard)
	t.failover("b", heard)
	t.eventually("one is active", func() bool {
		return heard.is("a", true) && heard.is("b", false) || heard.is("a", false) && heard.is("b", true)
	})
}

func TestTheStandbyTakesOver(tt *testing.T) {
	t := start(tt)
	heard := newActivity()
	active, standby := t.failover("a", heard), t.failover("b", heard)
	producer := t.unbatched()
	t.send(producer, "first")
	select {
	case message := <-active.Chan():
		t.must(active.Ack(message))
	case message := <-standby.Chan():
		active, standby = standby, active
		t.must(active.Ack(message))
	case <-time.After(arrives):
		t.Fatal("nobody is active")
	}
	active.Close()
	t.send(producer, "second")
	t.expect(t.values(standby, 1), "second")
	t.eventually("the standby was told", func() bool { return heard.is(standby.Name(), true) })
}
