package clients.v5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import clients.Eventually;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.HashingScheme;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.client.api.v5.QueueConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The V5 API and the older one on the same topic. */
class MixedClientsTest extends V5Test {
    private Producer<String> oldProducer() throws Exception {
        return oldClient().newProducer(Schema.STRING).topic(topic)
                .hashingScheme(HashingScheme.Murmur3_32Hash).create();
    }

    private Consumer<String> oldConsumer(SubscriptionType type) throws Exception {
        return oldClient().newConsumer(Schema.STRING).topic(topic).subscriptionName("s")
                .subscriptionType(type).subscriptionInitialPosition(SubscriptionInitialPosition.Earliest).subscribe();
    }

    @Test
    void bothChooseTheSamePartitionForAKey() throws Exception {
        create(5);
        Producer<String> old = oldProducer();
        var producer = producer();
        for (int i = 0; i < 50; i++) {
            old.newMessage().key("key-" + i).value("old").send();
            producer.newMessage().key("key-" + i).value("new").send();
        }
        Consumer<String> consumer = oldConsumer(SubscriptionType.Exclusive);
        Map<String, Set<String>> partitions = new HashMap<>();
        for (int i = 0; i < 100; i++) {
            Message<String> message = consumer.receive(15, TimeUnit.SECONDS);
            assertNotNull(message);
            partitions.computeIfAbsent(message.getKey(), key -> new TreeSet<>()).add(message.getTopicName());
        }
        assertEquals(50, partitions.size());
        partitions.forEach((key, topics) -> assertEquals(1, topics.size(), () -> key + " is in " + topics));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 3})
    void anOldConsumerReadsWhatANewProducerSends(int partitions) throws Exception {
        create(partitions);
        producer().newMessage().key("k").value("v").property("p", "1").send();
        Message<String> message = oldConsumer(SubscriptionType.Exclusive).receive(15, TimeUnit.SECONDS);
        assertEquals(List.of("k", "v", "1"), List.of(message.getKey(), message.getValue(), message.getProperty("p")));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 3})
    void aNewConsumerReadsWhatAnOldProducerSends(int partitions) throws Exception {
        create(partitions);
        Producer<String> old = oldProducer();
        for (int i = 0; i < 10; i++) {
            old.newMessage().key("k" + i).value("v" + i).send();
        }
        assertEquals(10, new TreeSet<>(consumed(queue("q").subscribe(), 10)).size());
        assertEquals(10, new TreeSet<>(values(stream(client, "a").subscribe()::receive, 10)).size());
    }

    @Test
    void oldAndNewConsumersShareASubscription() throws Exception {
        create(2);
        Consumer<String> old = oldConsumer(SubscriptionType.Shared);
        QueueConsumer<String> queue = queue("s").subscribe();
        Set<String> seen = new TreeSet<>();
        for (int i = 0; i < 20; i++) {
            producer().newMessage().value("v" + i).send();
        }
        Set<String> ofOld = new TreeSet<>();
        Eventually.until("all have come", () -> {
            Message<String> message = old.receive(50, TimeUnit.MILLISECONDS);
            if (message != null) {
                ofOld.add(message.getValue());
                seen.add(message.getValue());
                old.acknowledge(message);
            }
            var other = queue.receive(Duration.ofMillis(50));
            if (other != null) {
                seen.add(other.value());
                queue.acknowledge(other.id());
            }
            return seen.size() == 20;
        });
        assertFalse(ofOld.isEmpty());
    }
}
