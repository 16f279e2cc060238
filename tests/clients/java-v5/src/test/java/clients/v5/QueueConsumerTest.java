package clients.v5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import clients.Eventually;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.pulsar.client.api.v5.Message;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.QueueConsumer;
import org.apache.pulsar.client.api.v5.config.BackoffPolicy;
import org.apache.pulsar.client.api.v5.config.DeadLetterPolicy;
import org.apache.pulsar.client.api.v5.config.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.v5.schema.Schema;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class QueueConsumerTest extends V5Test {
    /** By default a message may come one tick too early. */
    private static final long TICK_MILLIS = 1000;
    private static final BackoffPolicy SOON = BackoffPolicy.exponential(Duration.ofMillis(50), Duration.ofMillis(100));

    private static void send(Producer<String> producer, int count) throws Exception {
        for (int i = 0; i < count; i++) {
            producer.newMessage().key("k" + i).value("v" + i).send();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 3})
    void acknowledgedMessagesDoNotComeAgain(int partitions) throws Exception {
        create(partitions);
        QueueConsumer<String> first = queue("q").subscribe();
        send(producer(), 12);
        consumed(first, 12);
        Eventually.until("nothing is left", () -> backlog("q") == 0);
        first.close();
        assertQuiet(queue("q").subscribe()::receive);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 3})
    void whatAClosedConsumerHasNotAcknowledgedGoesToTheNext(int partitions) throws Exception {
        create(partitions);
        QueueConsumer<String> first = queue("q").subscribe();
        send(producer(), 6);
        Set<String> all = new TreeSet<>(values(first::receive, 6));
        first.close();
        assertEquals(all, new TreeSet<>(consumed(queue("q").subscribe(), 6)));
    }

    @Test
    void twoConsumersShareTheMessages() throws Exception {
        create(2);
        QueueConsumer<String> one = queue("q").receiverQueueSize(1).subscribe();
        QueueConsumer<String> two = newClient().newQueueConsumer(Schema.string())
                .topic(topic).subscriptionName("q").receiverQueueSize(1).subscribe();
        send(producer(), 40);
        Set<String> seen = new TreeSet<>();
        for (int i = 0; i < 5; i++) {
            seen.addAll(consumed(one, 1));
            seen.addAll(consumed(two, 1));
        }
        assertEquals(10, seen.size());
    }

    @Test
    void aRefusedMessageComesAgain() throws Exception {
        create(2);
        QueueConsumer<String> consumer = queue("q").negativeAckRedeliveryBackoff(SOON).subscribe();
        producer().newMessage().value("v").send();
        consumer.negativeAcknowledge(next(consumer::receive).id());
        Message<String> again = next(consumer::receive);
        assertEquals("v", again.value());
        assertEquals(1, again.redeliveryCount());
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void afterTooManyRefusalsAMessageGoesToTheDeadLetterTopic(int partitions) throws Exception {
        create(partitions);
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
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void aDelayedMessageComesWhenItsTimeHasCome(int partitions) throws Exception {
        create(partitions);
        QueueConsumer<String> consumer = queue("q").subscribe();
        Producer<String> producer = producer();
        long sent = System.currentTimeMillis();
        producer.newMessage().value("later").deliverAfter(Duration.ofSeconds(3)).send();
        producer.newMessage().value("now").send();
        assertEquals(List.of("now", "later"), consumed(consumer, 2));
        assertTrue(System.currentTimeMillis() - sent >= 3000 - TICK_MILLIS);
    }

    @Test
    void aSubscriptionStartsWhereItIsToldTo() throws Exception {
        create(2);
        Producer<String> producer = producer();
        send(producer, 4);
        QueueConsumer<String> earliest = queue("old").subscribe();
        QueueConsumer<String> latest = queue("new").subscriptionInitialPosition(SubscriptionInitialPosition.LATEST)
                .subscribe();
        producer.newMessage().value("last").send();
        assertEquals(5, new TreeSet<>(consumed(earliest, 5)).size());
        assertEquals(List.of("last"), consumed(latest, 1));
    }

    @Test
    void consumersAndProducersComeBackAfterAnUnload() throws Exception {
        create(2);
        QueueConsumer<String> consumer = queue("q").subscribe();
        Producer<String> producer = producer();
        send(producer, 4);
        consumed(consumer, 4);
        ADMIN.topics().unload(topic);
        List<String> after = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            producer.newMessage().value("after" + i).send();
            after.add("after" + i);
        }
        Set<String> seen = new TreeSet<>();
        Eventually.until("the new messages have come", () -> {
            seen.addAll(consumed(consumer, 1));
            return seen.containsAll(after);
        });
    }
}
