// Publishes without batches through the official Go client and prints one JSON line.
//
// A Python producer is bound by its own CPU long before the broker is; this one takes a fraction of
// it, so the figure is the broker's. Times and the broker's CPU cover the sends alone.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	pulsarlog "github.com/apache/pulsar-client-go/pulsar/log"
)

const ticksPerSecond = 100 // USER_HZ, the unit of /proc/PID/stat on every Linux that Go supports

type result struct {
	Count     int     `json:"count"`
	Seconds   float64 `json:"seconds"`
	BrokerCPU float64 `json:"broker_cpu_s"`
	Errors    int64   `json:"errors"`
}

func main() {
	url := flag.String("url", "pulsar://localhost:6650", "service URL of the broker")
	topic := flag.String("topic", "", "topic to publish to")
	count := flag.Int("count", 500_000, "messages that are timed")
	warmup := flag.Int("warmup", 0, "messages sent before")
	size := flag.Int("size", 100, "bytes of payload")
	pid := flag.Int("broker-pid", 0, "process whose CPU time is reported; 0 is none")
	flag.Parse()

	client, err := pulsar.NewClient(pulsar.ClientOptions{
		URL:    *url,
		Logger: pulsarlog.NewLoggerWithSlog(slog.New(slog.NewTextHandler(io.Discard, nil))),
	})
	check(err)
	defer client.Close()
	producer, err := client.CreateProducer(pulsar.ProducerOptions{
		Topic: *topic, DisableBatching: true, MaxPendingMessages: 5000,
	})
	check(err)

	publish(producer, make([]byte, *size), *warmup)
	cpu, started := brokerCPU(*pid), time.Now()
	failed := publish(producer, make([]byte, *size), *count)
	seconds := time.Since(started).Seconds()
	check(json.NewEncoder(os.Stdout).Encode(result{
		Count: *count, Seconds: seconds, BrokerCPU: brokerCPU(*pid) - cpu, Errors: failed,
	}))
}

// publish sends count messages without waiting in between and returns how many were refused.
func publish(producer pulsar.Producer, payload []byte, count int) int64 {
	var failed atomic.Int64
	var pending sync.WaitGroup
	pending.Add(count)
	done := func(_ pulsar.MessageID, _ *pulsar.ProducerMessage, err error) {
		if err != nil {
			failed.Add(1)
		}
		pending.Done()
	}
	for range count {
		producer.SendAsync(context.Background(), &pulsar.ProducerMessage{Payload: payload}, done)
	}
	pending.Wait()
	return failed.Load()
}

func brokerCPU(pid int) float64 {
	if pid == 0 {
		return 0
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	check(err)
	afterName := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, err := strconv.Atoi(afterName[11])
	check(err)
	system, err := strconv.Atoi(afterName[12])
	check(err)
	return float64(user+system) / ticksPerSecond
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
