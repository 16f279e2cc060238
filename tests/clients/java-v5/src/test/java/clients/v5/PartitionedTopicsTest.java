package clients.v5;

import static org.junit.jupiter.api.Assertions.assertEquals;

import clients.Eventually;
import java.util.Set;
import java.util.TreeSet;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.v5.Message;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.QueueConsumer;
import org.apache.pulsar.client.api.v5.StreamConsumer;
import org.junit.jupiter.api.Test;

/** Partitions that are added while clients are connected. */
class PartitionedTopicsTest extends V5Test {
    private Set<String> sendToEachPartition() throws Exception {
        Set<String> sent = new TreeSet<>();
        for (int i = 0; i < 4; i++) {
            oldClient().newProducer(Schema.STRING).topic(topic + "-partition-" + i).create()
                    .send("v" + i);
            sent.add("v" + i);
        }
        return sent;
    }

    @Test
    void aQueueConsumerReadsAddedPartitions() throws Exception {
        create(2);
        QueueConsumer<String> consumer = queue("q").subscribe();
        ADMIN.topics().updatePartitionedTopic(topic, 4);
        assertEquals(sendToEachPartition(), new TreeSet<>(consumed(consumer, 4)));
    }

    @Test
    void aStreamConsumerReadsAddedPartitions() throws Exception {
        create(2);
        StreamConsumer<String> consumer = stream(client, "a").subscribe();
        ADMIN.topics().updatePartitionedTopic(topic, 4);
        Set<String> sent = sendToEachPartition();
        Set<String> seen = new TreeSet<>();
        for (int i = 0; i < 4; i++) {
            Message<String> message = next(consumer::receive);
            consumer.acknowledgeCumulative(message.id());
            seen.add(message.value());
        }
        assertEquals(sent, seen);
    }

    @Test
    void aProducerUsesAddedPartitions() throws Exception {
        create(2);
        Producer<String> producer = producer();
        ADMIN.topics().updatePartitionedTopic(topic, 4);
        Eventually.until("each partition has a message", () -> {
            producer.newMessage().value("v").send();
            for (int i = 0; i < 4; i++) {
                if (ADMIN.topics().getStats(topic + "-partition-" + i).getMsgInCounter() == 0) {
                    return false;
                }
            }
            return true;
        });
    }
}
