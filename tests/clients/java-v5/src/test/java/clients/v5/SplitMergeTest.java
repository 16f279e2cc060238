package clients.v5;

import static org.junit.jupiter.api.Assertions.assertEquals;

import clients.Eventually;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.client.api.v5.Checkpoint;
import org.apache.pulsar.client.api.v5.CheckpointConsumer;
import org.apache.pulsar.client.api.v5.CheckpointConsumerBuilder;
import org.apache.pulsar.client.api.v5.Message;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.QueueConsumer;
import org.apache.pulsar.client.api.v5.StreamConsumer;
import org.apache.pulsar.client.api.v5.config.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.v5.schema.Schema;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A producer publishes while its only segment splits, and while both halves become one again. */
class SplitMergeTest extends OnScalableTopic {
    private static final int ALL = 300;

    private final KeyedMessages messages = new KeyedMessages();
    private Producer<String> producer;

    @BeforeEach
    void createTopic() throws Exception {
        topic = scalable(newTopic(keepingNamespace()));
        create(1);
        producer = newClient().newProducer(Schema.string()).topic(topic).create();
    }

    /** All messages: a third before the split, and a third beside each change. */
    private void publish() throws Exception {
        messages.send(producer, ALL / 3);
        sendDuring(() -> split(0));
        sendDuring(() -> merge(1, 2));
    }

    private interface Change {
        void make() throws Exception;
    }

    private void sendDuring(Change change) throws Exception {
        CompletableFuture<Void> made = CompletableFuture.runAsync(() -> {
            try {
                change.make();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        messages.send(producer, ALL / 3);
        made.get();
    }

    private CheckpointConsumerBuilder<String> from(Checkpoint start) {
        return client.newCheckpointConsumer(Schema.string()).topic(topic).startPosition(start);
    }

    private static void assertReads(int first, CheckpointConsumer<String> consumer) {
        Set<String> expected = numbers(ALL);
        expected.removeAll(numbers(first));
        assertReceives(expected, consumer::receive, read -> { });
    }

    @Test
    void aStreamConsumerReceivesTheMessagesOfEachKeyInOrder() throws Exception {
        StreamConsumer<String> consumer = stream(client, "a").subscribe();
        publish();
        messages.receiveAll(consumer);
        Eventually.until("nothing is left", () -> backlog("s") == 0);
    }

    @Test
    void aStreamConsumerReadsASegmentToItsEndBeforeItsHalves() throws Exception {
        StreamConsumer<String> consumer = stream(client, "a").subscribe();
        messages.send(producer, 60);
        Message<String> half = null;
        for (int i = 0; i < 30; i++) {
            messages.add(half = next(consumer::receive));
        }
        consumer.acknowledgeCumulative(half.id());
        split(0);
        messages.send(producer, 60);
        Message<String> last = half;
        for (int i = 30; i < 60; i++) {
            last = next(consumer::receive);
            messages.add(last);
            assertEquals("0", segmentOf(last));
        }
        assertQuiet(consumer::receive);
        consumer.acknowledgeCumulative(last.id());
        messages.receiveAll(consumer);
    }

    @Test
    void aQueueConsumerReceivesEveryMessageOnce() throws Exception {
        QueueConsumer<String> consumer = queue("q").subscribe();
        publish();
        assertReceives(numbers(ALL), consumer::receive, consumer::acknowledge);
        Eventually.until("nothing is left", () -> backlog("q") == 0);
    }

    @Test
    void aQueueThatBeganAtTheEndMissesNothing() throws Exception {
        messages.send(producer, 30);
        QueueConsumer<String> consumer = queue("q").subscriptionInitialPosition(SubscriptionInitialPosition.LATEST)
                .subscribe();
        sendDuring(() -> split(0));
        sendDuring(() -> split(1));
        Set<String> expected = numbers(30 + 2 * ALL / 3);
        expected.removeAll(numbers(30));
        assertReceives(expected, consumer::receive, consumer::acknowledge);
    }

    @Test
    void aCheckpointConsumerReadsEveryMessageOnce() throws Exception {
        CheckpointConsumer<String> consumer = from(Checkpoint.earliest()).create();
        publish();
        assertReads(0, consumer);
    }

    @Test
    void aConsumerOfAGroupReadsEveryMessageOnce() throws Exception {
        CheckpointConsumer<String> consumer = from(Checkpoint.earliest()).consumerGroup("g").consumerName("a").create();
        publish();
        assertReads(0, consumer);
    }

    @Test
    void aCheckpointLeadsOverChangesThatCameAfterIt() throws Exception {
        CheckpointConsumer<String> first = from(Checkpoint.earliest()).create();
        messages.send(producer, ALL / 3);
        values(first::receive, 40);
        byte[] saved = first.checkpoint().toByteArray();
        first.close();
        sendDuring(() -> split(0));
        sendDuring(() -> merge(1, 2));
        assertReads(40, from(Checkpoint.fromByteArray(saved)).create());
    }

    @Test
    void aQueueConsumerThatComesLaterReadsAllSegments() throws Exception {
        publish();
        QueueConsumer<String> consumer = queue("q").subscribe();
        assertReceives(numbers(ALL), consumer::receive, consumer::acknowledge);
    }

    @Test
    void aConsumerThatComesLaterReadsAllSegments() throws Exception {
        publish();
        assertReads(0, from(Checkpoint.earliest()).create());
        messages.receiveAll(stream(client, "a").subscribe());
    }
}
