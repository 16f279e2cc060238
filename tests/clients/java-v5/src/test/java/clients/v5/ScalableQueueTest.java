package clients.v5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import clients.Eventually;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.pulsar.client.api.v5.Message;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.QueueConsumer;
import org.apache.pulsar.client.api.v5.config.BackoffPolicy;
import org.apache.pulsar.client.api.v5.config.DeadLetterPolicy;
import org.apache.pulsar.client.api.v5.config.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.v5.schema.Schema;
import org.junit.jupiter.api.Test;

/** Queue consumers of a scalable topic: what a sealed segment still owes them. */
class ScalableQueueTest extends OnScalableTopic {
    private static final long TICK_MILLIS = 1000;
    private static final BackoffPolicy SOON = BackoffPolicy.exponential(Duration.ofMillis(50), Duration.ofMillis(100));

    private final KeyedMessages messages = new KeyedMessages();

    @Test
    void twoConsumersShareEverySegment() throws Exception {
        create(2);
        QueueConsumer<String> one = queue("q").subscribe();
        QueueConsumer<String> two = newClient().newQueueConsumer(Schema.string()).topic(topic).subscriptionName("q")
                .subscribe();
        Producer<String> producer = producer();
        messages.send(producer, 40);
        split(0);
        messages.send(producer, 40);
        Set<String> ofOne = new HashSet<>();
        Set<String> ofTwo = new HashSet<>();
        Eventually.until("all have come", () -> {
            gather(one, ofOne);
            gather(two, ofTwo);
            Set<String> both = new HashSet<>(ofOne);
            both.addAll(ofTwo);
            return both.equals(numbers(80));
        });
        assertFalse(ofOne.isEmpty() || ofTwo.isEmpty());
    }

    private static void gather(QueueConsumer<String> consumer, Set<String> seen) throws Exception {
        Message<String> message = consumer.receive(Duration.ofMillis(20));
        if (message != null) {
            seen.add(message.value());
            consumer.acknowledge(message.id());
        }
    }

    @Test
    void whatAClosedConsumerHasNotAcknowledgedGoesToTheNext() throws Exception {
        create(1);
        QueueConsumer<String> first = queue("q").subscribe();
        Producer<String> producer = producer();
        messages.send(producer, 20);
        values(first::receive, 20);
        split(0);
        messages.send(producer, 20);
        first.close();
        QueueConsumer<String> second = queue("q").subscribe();
        assertEquals(numbers(40), new HashSet<>(consumed(second, 40)));
        Eventually.until("nothing is left", () -> backlog("q") == 0);
    }

    @Test
    void aRefusedMessageOfASealedSegmentComesAgain() throws Exception {
        create(1);
        QueueConsumer<String> consumer = queue("q").negativeAckRedeliveryBackoff(SOON).subscribe();
        producer().newMessage().key("k").value("v").send();
        Message<String> message = next(consumer::receive);
        split(0);
        consumer.negativeAcknowledge(message.id());
        Message<String> again = next(consumer::receive);
        assertEquals(List.of("v", "0", "1"),
                List.of(again.value(), segmentOf(again), "" + again.redeliveryCount()));
    }

    @Test
    void afterTooManyRefusalsAMessageGoesToAScalableDeadLetterTopic() throws Exception {
        create(2);
        QueueConsumer<String> consumer = queue("q").negativeAckRedeliveryBackoff(SOON)
                .deadLetterPolicy(DeadLetterPolicy.builder().maxRedeliverCount(1).deadLetterTopic(topic + "-dead").build())
                .subscribe();
        producer().newMessage().key("k").value("poison").send();
        for (int i = 0; i < 2; i++) {
            consumer.negativeAcknowledge(next(consumer::receive).id());
        }
        QueueConsumer<byte[]> dead = client.newQueueConsumer(Schema.bytes()).topic(topic + "-dead")
                .subscriptionName("d").subscriptionInitialPosition(SubscriptionInitialPosition.EARLIEST).subscribe();
        assertEquals("poison", new String(next(dead::receive).value(), StandardCharsets.UTF_8));
        Eventually.until("the original is acknowledged", () -> backlog("q") == 0);
        assertEquals(1, ADMIN.scalableTopics().getMetadata(topic + "-dead").getSegments().size());
    }

    @Test
    void aDelayedMessageComesOnTimeFromASealedSegment() throws Exception {
        create(1);
        QueueConsumer<String> consumer = queue("q").subscribe();
        Producer<String> producer = producer();
        long sent = System.currentTimeMillis();
        producer.newMessage().key("k").value("later").deliverAfter(Duration.ofSeconds(3)).send();
        split(0);
        producer.newMessage().key("k").value("now").send();
        assertEquals(List.of("now", "later"), consumed(consumer, 2));
        assertTrue(System.currentTimeMillis() - sent >= 3000 - TICK_MILLIS);
    }
}
