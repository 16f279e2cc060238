package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.common.policies.data.AutoSubscriptionCreationOverride;
import org.apache.pulsar.common.policies.data.AutoTopicCreationOverride;
import org.junit.jupiter.api.Test;

class UnloadTest extends ClientTest {
    @Test
    void producersAndConsumersComeBackAfterAnUnload() throws Exception {
        Consumer<String> consumer = exclusive(topic);
        Producer<String> producer = unbatched(topic);
        producer.send("before");
        assertEquals(List.of("before"), values(consumer, 1));
        Eventually.until("the acknowledgement has arrived",
                () -> ADMIN.topics().getStats(topic).getSubscriptions().get("s").getMsgBacklog() == 0);
        ADMIN.topics().unload(topic);
        producer.send("after");
        Eventually.until("the new message has come", () -> "after".equals(values(consumer, 1).get(0)));
    }

    @Test
    void aDeletedTopicIsMadeAgainByItsProducer() throws Exception {
        Producer<String> producer = unbatched(topic);
        producer.send("old");
        ADMIN.topics().delete(topic, true);
        Eventually.until("the producer is back", () -> producer.sendAsync("new").get() != null);
        assertEquals("new", receive(exclusive(topic)).getValue());
    }

    @Test
    void aTopicIsNotMadeWhereTheNamespaceForbidsIt() throws Exception {
        String namespace = newNamespace();
        ADMIN.namespaces().setAutoTopicCreation(namespace,
                AutoTopicCreationOverride.builder().allowAutoTopicCreation(false).build());
        assertThrows(PulsarClientException.class, () -> unbatched(newTopic(namespace)));
    }

    @Test
    void aNamespaceMayMakePartitionedTopics() throws Exception {
        String namespace = newNamespace();
        ADMIN.namespaces().setAutoTopicCreation(namespace, AutoTopicCreationOverride.builder()
                .allowAutoTopicCreation(true).topicType("partitioned").defaultNumPartitions(3).build());
        topic = newTopic(namespace);
        unbatched(topic).send("v");
        assertEquals(3, ADMIN.topics().getPartitionedTopicMetadata(topic).partitions);
    }

    @Test
    void aSubscriptionIsNotMadeWhereTheNamespaceForbidsIt() throws Exception {
        String namespace = newNamespace();
        ADMIN.namespaces().setAutoSubscriptionCreation(namespace,
                AutoSubscriptionCreationOverride.builder().allowAutoSubscriptionCreation(false).build());
        topic = newTopic(namespace);
        unbatched(topic).close();
        assertThrows(PulsarClientException.class,
                () -> subscribe(topic, "s", SubscriptionType.Exclusive).subscribe());
    }
}
