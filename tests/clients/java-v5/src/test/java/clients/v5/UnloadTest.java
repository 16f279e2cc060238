package clients.v5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.apache.pulsar.client.api.v5.Checkpoint;
import org.apache.pulsar.client.api.v5.PulsarClientException;
import org.apache.pulsar.client.api.v5.schema.Schema;
import org.apache.pulsar.common.policies.data.AutoTopicCreationOverride;
import org.junit.jupiter.api.Test;

/** Topics that clients create. */
class UnloadTest extends V5Test {
    private void allow(AutoTopicCreationOverride.Builder allowed) throws Exception {
        String namespace = newNamespace();
        ADMIN.namespaces().setAutoTopicCreation(namespace, allowed.build());
        topic = newTopic(namespace);
    }

    @Test
    void producersAndConsumersCreateTheirTopic() throws Exception {
        var consumer = queue("q").subscribe();
        producer().newMessage().value("v").send();
        assertEquals("v", next(consumer::receive).value());
        assertEquals(0, ADMIN.topics().getPartitionedTopicMetadata(topic).partitions);
    }

    @Test
    void aNamespaceMayMakePartitionedTopics() throws Exception {
        allow(AutoTopicCreationOverride.builder().allowAutoTopicCreation(true).topicType("partitioned")
                .defaultNumPartitions(3));
        producer().newMessage().value("v").send();
        assertEquals(3, ADMIN.topics().getPartitionedTopicMetadata(topic).partitions);
        assertEquals("v", next(queue("q").subscribe()::receive).value());
    }

    @Test
    void aTopicIsNotMadeWhereTheNamespaceForbidsIt() throws Exception {
        allow(AutoTopicCreationOverride.builder().allowAutoTopicCreation(false));
        assertThrows(PulsarClientException.class, () -> producer().newMessage().value("v").send());
        assertThrows(PulsarClientException.class, () -> queue("q").subscribe());
        assertThrows(PulsarClientException.class, () -> stream(client, "a").subscribe());
        assertThrows(PulsarClientException.class, () -> client.newCheckpointConsumer(Schema.string()).topic(topic)
                .startPosition(Checkpoint.earliest()).create());
    }
}
