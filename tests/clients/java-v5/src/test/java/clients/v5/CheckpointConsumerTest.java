package clients.v5;

import static org.junit.jupiter.api.Assertions.assertEquals;

import clients.Eventually;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.pulsar.client.api.v5.Checkpoint;
import org.apache.pulsar.client.api.v5.CheckpointConsumer;
import org.apache.pulsar.client.api.v5.CheckpointConsumerBuilder;
import org.apache.pulsar.client.api.v5.Message;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.client.api.v5.schema.Schema;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CheckpointConsumerTest extends V5Test {
    private CheckpointConsumerBuilder<String> from(Checkpoint start, PulsarClient owner) {
        return owner.newCheckpointConsumer(Schema.string()).topic(topic).startPosition(start);
    }

    private CheckpointConsumer<String> from(Checkpoint start) throws Exception {
        return from(start, client).create();
    }

    private static List<String> send(Producer<String> producer, String prefix, int count) throws Exception {
        List<String> sent = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            sent.add(prefix + i);
            producer.newMessage().key("k" + i).value(prefix + i).send();
        }
        return sent;
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 3})
    void itReadsFromTheStart(int partitions) throws Exception {
        create(partitions);
        List<String> sent = send(producer(), "v", 20);
        CheckpointConsumer<String> consumer = from(Checkpoint.earliest());
        assertEquals(new TreeSet<>(sent), new TreeSet<>(values(consumer::receive, 20)));
        assertQuiet(consumer::receive);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 3})
    void itReadsOnlyWhatFollows(int partitions) throws Exception {
        create(partitions);
        Producer<String> producer = producer();
        send(producer, "old", 5);
        CheckpointConsumer<String> consumer = from(Checkpoint.latest());
        List<String> sent = send(producer, "new", 5);
        assertEquals(new TreeSet<>(sent), new TreeSet<>(values(consumer::receive, 5)));
        assertQuiet(consumer::receive);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 3})
    void itGoesOnFromASavedCheckpoint(int partitions) throws Exception {
        create(partitions);
        Producer<String> producer = producer();
        Set<String> sent = new TreeSet<>(send(producer, "v", 20));
        CheckpointConsumer<String> first = from(Checkpoint.earliest());
        Set<String> seen = new TreeSet<>(values(first::receive, 8));
        byte[] saved = first.checkpoint().toByteArray();
        first.close();
        sent.addAll(send(producer, "more", 4));
        CheckpointConsumer<String> resumed = from(Checkpoint.fromByteArray(saved));
        seen.addAll(values(resumed::receive, 16));
        assertEquals(sent, seen);
        assertQuiet(resumed::receive);
    }

    @Test
    void itLeavesNoSubscriptionBehind() throws Exception {
        create(0);
        send(producer(), "v", 3);
        CheckpointConsumer<String> consumer = from(Checkpoint.earliest());
        values(consumer::receive, 3);
        consumer.close();
        assertEquals(Set.of(), ADMIN.topics().getStats(topic).getSubscriptions().keySet());
    }

    @Test
    void theConsumersOfAGroupShareThePartitions() throws Exception {
        create(4);
        CheckpointConsumer<String> one = from(Checkpoint.earliest(), client).consumerGroup("g").consumerName("a").create();
        CheckpointConsumer<String> two = from(Checkpoint.earliest(), newClient()).consumerGroup("g").consumerName("b")
                .create();
        Set<String> sent = new TreeSet<>(send(producer(), "v", 60));
        Set<String> ofOne = new TreeSet<>();
        Set<String> ofTwo = new TreeSet<>();
        Eventually.until("all messages have come", () -> {
            gather(one, ofOne);
            gather(two, ofTwo);
            Set<String> both = new TreeSet<>(ofOne);
            both.addAll(ofTwo);
            return both.equals(sent) && !ofOne.isEmpty() && !ofTwo.isEmpty();
        });
    }

    private static void gather(CheckpointConsumer<String> consumer, Set<String> seen) throws Exception {
        Message<String> message = consumer.receive(Duration.ofMillis(50));
        if (message != null) {
            seen.add(message.value());
        }
    }
}
