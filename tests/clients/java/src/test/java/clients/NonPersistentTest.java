package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.common.policies.data.NonPersistentTopicStats;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class NonPersistentTest extends ClientTest {
    @BeforeEach
    void makeItNonPersistent() {
        topic = topic.replace("persistent://", "non-persistent://");
    }

    private Consumer<String> consumer(SubscriptionType type) throws Exception {
        return subscribe(topic, "s", type).subscribe();
    }

    @Test
    void connectedConsumersGetTheMessages() throws Exception {
        Consumer<String> consumer = consumer(SubscriptionType.Exclusive);
        Producer<String> producer = unbatched(topic);
        for (String value : numbered("v", 10)) {
            producer.send(value);
        }
        assertEquals(List.of(numbered("v", 10)), values(consumer, 10));
    }

    @Test
    void nothingIsKept() throws Exception {
        Producer<String> producer = unbatched(topic);
        producer.send("lost");
        Consumer<String> consumer = consumer(SubscriptionType.Exclusive);
        producer.send("seen");
        assertEquals(List.of("seen"), values(consumer, 1));
    }

    @Test
    void whatIsNotAcknowledgedIsNotRepeated() throws Exception {
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        unbatched(topic).send("once");
        receive(consumer);
        consumer.close();
        assertQuiet(consumer(SubscriptionType.Shared));
    }

    @Test
    void sharedConsumersShare() throws Exception {
        Consumer<String> one = consumer(SubscriptionType.Shared);
        Consumer<String> two = consumer(SubscriptionType.Shared);
        Producer<String> producer = unbatched(topic);
        for (String value : numbered("v", 10)) {
            producer.send(value);
        }
        TreeSet<String> all = new TreeSet<>(values(one, 5));
        all.addAll(values(two, 5));
        assertEquals(10, all.size());
    }

    @Test
    void everySubscriptionGetsEveryMessage() throws Exception {
        Consumer<String> one = subscribe(topic, "one", SubscriptionType.Exclusive).subscribe();
        Consumer<String> two = subscribe(topic, "two", SubscriptionType.Failover).subscribe();
        Producer<String> producer = unbatched(topic);
        for (String value : numbered("v", 3)) {
            producer.send(value);
        }
        assertEquals(List.of("v0", "v1", "v2"), values(one, 3));
        assertEquals(List.of("v0", "v1", "v2"), values(two, 3));
    }

    @Test
    void aSendIsAnsweredThoughNobodyListens() throws Exception {
        assertNotNull(unbatched(topic).send("v"));
    }

    @Test
    void keysShareOutOnKeyShared() throws Exception {
        Consumer<String> one = consumer(SubscriptionType.Key_Shared);
        Producer<String> producer = unbatched(topic);
        producer.newMessage().key("k").value("v").send();
        assertEquals("k", receive(one).getKey());
    }

    @Test
    void aConsumerWithoutRoomMissesMessages() throws Exception {
        Consumer<String> consumer =
                subscribe(topic, "s", SubscriptionType.Exclusive).receiverQueueSize(1).subscribe();
        consumer.pause();
        Producer<String> producer = unbatched(topic);
        for (String value : numbered("v", 100)) {
            producer.send(value);
        }
        consumer.resume();
        int got = 0;
        while (consumer.receive(500, TimeUnit.MILLISECONDS) != null) {
            got++;
        }
        assertTrue(got < 100, "nothing was dropped");
    }

    @Test
    void itUsesNoStorage() throws Exception {
        unbatched(topic).send("v");
        NonPersistentTopicStats stats = (NonPersistentTopicStats) ADMIN.topics().getStats(topic);
        assertEquals(0, stats.getStorageSize());
        assertEquals(1, stats.getMsgInCounter());
    }

    @Test
    void partitionsMayBeNonPersistent() throws Exception {
        ADMIN.topics().createPartitionedTopic(topic, 2);
        Consumer<String> consumer = consumer(SubscriptionType.Exclusive);
        Producer<String> producer = unbatched(topic);
        producer.send("a");
        producer.send("b");
        assertEquals(2, new TreeSet<>(values(consumer, 2)).size());
    }
}
