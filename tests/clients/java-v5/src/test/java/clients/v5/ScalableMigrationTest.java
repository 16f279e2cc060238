package clients.v5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import clients.Eventually;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.admin.PulsarAdminException.ConflictException;
import org.apache.pulsar.client.admin.PulsarAdminException.NotFoundException;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.v5.Checkpoint;
import org.apache.pulsar.client.api.v5.CheckpointConsumer;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.QueueConsumer;
import org.apache.pulsar.client.api.v5.StreamConsumer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A regular topic becomes a scalable one while clients use it. */
class ScalableMigrationTest extends V5Test {
    private final KeyedMessages messages = new KeyedMessages();

    private CheckpointConsumer<String> fromTheStart() throws Exception {
        return client.newCheckpointConsumer(org.apache.pulsar.client.api.v5.schema.Schema.string()).topic(topic)
                .startPosition(Checkpoint.earliest()).create();
    }

    /** Forced, because the checkpoint consumers of this client do not tell that they know scalable topics. */
    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void connectedCheckpointConsumersGoOn(int partitions) throws Exception {
        topic = newTopic(OnScalableTopic.keepingNamespace());
        create(partitions);
        Producer<String> producer = producer();
        CheckpointConsumer<String> checkpoint = fromTheStart();
        messages.send(producer, 64);
        ADMIN.scalableTopics().migrateToScalable(topic, true);
        messages.send(producer, 64);
        OnScalableTopic.assertReceives(OnScalableTopic.numbers(128), checkpoint::receive, read -> { });
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void connectedClientsGoOn(int partitions) throws Exception {
        create(partitions);
        Producer<String> producer = producer();
        QueueConsumer<String> queue = queue("q").subscribe();
        StreamConsumer<String> stream = stream(client, "a").subscribe();
        messages.send(producer, 64);
        ADMIN.scalableTopics().migrateToScalable(topic, false);
        messages.send(producer, 64);
        OnScalableTopic.assertReceives(OnScalableTopic.numbers(128), queue::receive, queue::acknowledge);
        messages.receiveAll(stream);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void consumersThatComeLaterReadWhatCameBefore(int partitions) throws Exception {
        topic = newTopic(OnScalableTopic.keepingNamespace());
        create(partitions);
        messages.send(producer(), 64);
        client.close();
        client = newClient();
        ADMIN.scalableTopics().migrateToScalable(topic, false);
        topic = OnScalableTopic.scalable(topic);
        messages.send(producer(), 64);
        assertEquals(OnScalableTopic.numbers(128), new HashSet<>(consumed(queue("q").subscribe(), 128)));
        assertEquals(OnScalableTopic.numbers(128), new HashSet<>(values(fromTheStart()::receive, 128)));
        messages.receiveAll(stream(client, "a").subscribe());
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void olderClientsHoldItUpAndThenReadToTheEnd(int partitions) throws Exception {
        create(partitions);
        var old = oldClient();
        var producer = old.newProducer(Schema.STRING).topic(topic).enableBatching(false).create();
        Consumer<String> consumer = old.newConsumer(Schema.STRING).topic(topic).subscriptionName("old")
                .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest).subscribe();
        for (int i = 0; i < 20; i++) {
            producer.newMessage().key("k" + i).value("" + i).send();
        }
        assertThrows(ConflictException.class, () -> ADMIN.scalableTopics().migrateToScalable(topic, false));
        ADMIN.scalableTopics().migrateToScalable(topic, true);
        assertThrows(PulsarClientException.class, () -> producer.newMessage().key("k").value("late").send());
        Set<String> seen = new HashSet<>();
        for (int i = 0; i < 20; i++) {
            Message<String> message = consumer.receive(15, TimeUnit.SECONDS);
            assertNotNull(message);
            seen.add(message.getValue());
            consumer.acknowledge(message);
        }
        assertEquals(OnScalableTopic.numbers(20), seen);
        Eventually.until("the consumer has reached the end", consumer::hasReachedEndOfTopic);
        assertThrows(ConflictException.class, () -> ADMIN.scalableTopics().migrateToScalable(topic, true));
        assertThrows(NotFoundException.class, () -> ADMIN.scalableTopics().migrateToScalable(topic + "-none", true));
        assertTrue(ADMIN.scalableTopics().listScalableTopics("public/default")
                .contains(OnScalableTopic.scalable(topic)));
    }
}
