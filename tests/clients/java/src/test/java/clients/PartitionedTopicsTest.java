package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageRoutingMode;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionType;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class PartitionedTopicsTest extends ClientTest {
    @BeforeEach
    void createThePartitions() throws Exception {
        ADMIN.topics().createPartitionedTopic(topic, 3);
    }

    @Test
    void aClientSeesThePartitions() throws Exception {
        assertEquals(List.of(topic + "-partition-0", topic + "-partition-1", topic + "-partition-2"),
                client.getPartitionsForTopic(topic).get(10, TimeUnit.SECONDS));
    }

    @Test
    void roundRobinUsesEveryPartition() throws Exception {
        Consumer<String> consumer = exclusive(topic);
        sendBatch(unbatched(topic), numbered("v", 9));
        Map<String, Integer> perPartition = new HashMap<>();
        for (int i = 0; i < 9; i++) {
            perPartition.merge(receive(consumer).getTopicName(), 1, Integer::sum);
        }
        assertEquals(Set.of(3), new HashSet<>(perPartition.values()));
        assertEquals(3, perPartition.size());
    }

    @Test
    void aKeyStaysInItsPartition() throws Exception {
        Consumer<String> consumer = exclusive(topic);
        Producer<String> producer = unbatched(topic);
        for (int i = 0; i < 5; i++) {
            producer.newMessage().key("k").value("v" + i).send();
        }
        Set<String> topics = new HashSet<>();
        for (int i = 0; i < 5; i++) {
            Message<String> message = receive(consumer);
            assertEquals("v" + i, message.getValue());
            topics.add(message.getTopicName());
        }
        assertEquals(1, topics.size());
    }

    @Test
    void onePartitionCanBeConsumedAlone() throws Exception {
        sendBatch(unbatched(topic), numbered("v", 6));
        assertEquals(2, values(exclusive(topic + "-partition-1"), 2).size());
    }

    @Test
    void aSinglePartitionProducerStaysWithOne() throws Exception {
        Consumer<String> consumer = exclusive(topic);
        Producer<String> producer = client.newProducer(Schema.STRING).topic(topic)
                .messageRoutingMode(MessageRoutingMode.SinglePartition).create();
        Set<String> topics = new HashSet<>();
        for (int i = 0; i < 6; i++) {
            producer.send("v" + i);
            topics.add(receive(consumer).getTopicName());
        }
        assertEquals(1, topics.size());
    }

    @Test
    void aLiveProducerAndConsumerUseNewPartitions() throws Exception {
        Consumer<String> consumer = subscribe(topic, "s", SubscriptionType.Shared)
                .autoUpdatePartitionsInterval(1, TimeUnit.SECONDS).subscribe();
        Producer<String> producer = client.newProducer(Schema.STRING).topic(topic).enableBatching(false)
                .autoUpdatePartitionsInterval(1, TimeUnit.SECONDS).create();
        ADMIN.topics().updatePartitionedTopic(topic, 5);
        Set<String> seen = new TreeSet<>();
        Eventually.until("messages of all five partitions", () -> {
            producer.send("v");
            Message<String> message = consumer.receive(1, TimeUnit.SECONDS);
            if (message != null) {
                seen.add(message.getTopicName());
            }
            return seen.size() == 5;
        });
    }

    @Test
    void aNewPartitionHasTheSubscriptions() throws Exception {
        exclusive(topic).close();
        ADMIN.topics().updatePartitionedTopic(topic, 4);
        Eventually.until("the subscription is there",
                () -> ADMIN.topics().getSubscriptions(topic + "-partition-3").contains("s"));
    }

    @Test
    void acknowledgingOverPartitionsLeavesNoBacklog() throws Exception {
        Consumer<String> consumer = exclusive(topic);
        sendBatch(unbatched(topic), numbered("v", 30));
        values(consumer, 30);
        Eventually.until("no backlog", () -> ADMIN.topics().getPartitionedStats(topic, false).getSubscriptions()
                .get("s").getMsgBacklog() == 0);
    }

    @Test
    void partitionedStatsAddUpThePartitions() throws Exception {
        exclusive(topic);
        sendBatch(unbatched(topic), numbered("v", 6));
        var stats = ADMIN.topics().getPartitionedStats(topic, true);
        assertEquals(6, stats.getMsgInCounter());
        assertEquals(3, stats.getPartitions().size());
        assertEquals(6, stats.getSubscriptions().get("s").getMsgBacklog());
        assertTrue(stats.getMetadata().partitions == 3);
    }
}
