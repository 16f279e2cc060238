package clients.v5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import clients.Eventually;
import java.time.Duration;
import java.util.Collections;
import java.util.Set;
import java.util.TreeSet;
import org.apache.pulsar.client.api.v5.Checkpoint;
import org.apache.pulsar.client.api.v5.CheckpointConsumer;
import org.apache.pulsar.client.api.v5.CheckpointConsumerBuilder;
import org.apache.pulsar.client.api.v5.Message;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.client.api.v5.StreamConsumer;
import org.apache.pulsar.client.api.v5.schema.Schema;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A broker of its own, whose grace period for registered consumers is the usual one. */
class DurabilityTest extends V5Test {
    private final KeyedMessages messages = new KeyedMessages();
    private OwnBroker broker;
    private PulsarClient one;
    private PulsarClient two;

    @BeforeEach
    void startBroker() throws Exception {
        broker = new OwnBroker();
        one = ownClient();
        two = ownClient();
    }

    @AfterEach
    void endBroker() throws Exception {
        broker.close();
    }

    private PulsarClient ownClient() throws Exception {
        return newClient(PulsarClient.builder().serviceUrl(broker.serviceUrl()));
    }

    private void createScalable(int segments) throws Exception {
        topic = OnScalableTopic.scalable(topic);
        broker.ask(admin -> admin.scalableTopics().createScalableTopic(topic, segments));
    }

    private void split(int segment) throws Exception {
        broker.ask(admin -> admin.scalableTopics().splitSegment(topic, segment));
    }

    private Producer<String> producer(PulsarClient from) throws Exception {
        return from.newProducer(Schema.string()).topic(topic).create();
    }

    @Test
    void streamConsumersGoOnAfterTheirBrokerHasDied() throws Exception {
        broker.ask(admin -> admin.topics().createPartitionedTopic(topic, 4));
        StreamConsumer<String> a = stream(one, "a").subscribe();
        StreamConsumer<String> b = stream(two, "b").subscribe();
        Producer<String> producer = producer(one);
        messages.send(producer, 64);
        messages.receiveAll(a, b);
        broker.kill();
        broker.start();
        messages.send(producer, 64);
        messages.receiveAll(a, b);
    }

    @Test
    void streamConsumersOfAScalableTopicGoOnInOrder() throws Exception {
        createScalable(2);
        StreamConsumer<String> a = stream(one, "a").subscribe();
        StreamConsumer<String> b = stream(two, "b").subscribe();
        Producer<String> producer = producer(one);
        messages.send(producer, 64);
        messages.receiveAll(a, b);
        messages.send(producer, 32);
        split(0);
        messages.send(producer, 32);
        broker.kill();
        broker.start();
        messages.send(producer, 64);
        messages.receiveAll(a, b);
    }

    @Test
    void aStreamConsumerThatReturnsInTimeFindsItsSegments() throws Exception {
        createScalable(4);
        StreamConsumer<String> a = stream(one, "a").subscribe();
        StreamConsumer<String> b = stream(two, "b").subscribe();
        Producer<String> producer = producer(one);
        messages.send(producer, 64);
        messages.receiveAll(a, b);
        Set<String> ofA = messages.segmentsOf(a);
        Set<String> ofB = messages.segmentsOf(b);
        assertTrue(Collections.disjoint(ofA, ofB), () -> ofA + " and " + ofB);
        two.shutdown();
        messages.send(producer, 64);
        StreamConsumer<String> returned = stream(ownClient(), "b").subscribe();
        messages.receiveAll(a, returned);
        assertEquals(ofA, messages.segmentsOf(a));
        assertEquals(ofB, messages.segmentsOf(returned));
    }

    private CheckpointConsumerBuilder<String> from(Checkpoint start) {
        return one.newCheckpointConsumer(Schema.string()).topic(topic).startPosition(start);
    }

    @Test
    void checkpointConsumersOfAScalableTopicGoOn() throws Exception {
        createScalable(2);
        CheckpointConsumer<String> alone = from(Checkpoint.earliest()).create();
        CheckpointConsumer<String> grouped = from(Checkpoint.earliest()).consumerGroup("g").consumerName("a").create();
        Producer<String> producer = producer(two);
        messages.send(producer, 32);
        Set<String> ofAlone = new TreeSet<>(values(alone::receive, 32));
        Set<String> ofGroup = new TreeSet<>(values(grouped::receive, 32));
        byte[] saved = alone.checkpoint().toByteArray();
        split(0);
        messages.send(producer, 32);
        broker.kill();
        broker.start();
        messages.send(producer, 32);
        assertGathers(alone, ofAlone);
        assertGathers(grouped, ofGroup);
        CheckpointConsumer<String> resumed = from(Checkpoint.fromByteArray(saved)).create();
        Set<String> later = new TreeSet<>(OnScalableTopic.numbers(96));
        later.removeAll(OnScalableTopic.numbers(32));
        assertEquals(later, new TreeSet<>(values(resumed::receive, 64)));
        assertQuiet(resumed::receive);
    }

    private static void assertGathers(CheckpointConsumer<String> consumer, Set<String> seen) {
        Eventually.until("all messages have come", () -> {
            Message<String> message = consumer.receive(Duration.ofMillis(50));
            if (message != null) {
                seen.add(message.value());
            }
            return seen.equals(OnScalableTopic.numbers(96));
        });
    }
}
