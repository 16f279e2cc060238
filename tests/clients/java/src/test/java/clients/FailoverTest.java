package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.ConsumerEventListener;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.SubscriptionType;
import org.junit.jupiter.api.Test;

class FailoverTest extends ClientTest {
    /** Which consumers were told last that they are active, per partition. */
    private final Set<String> active = ConcurrentHashMap.newKeySet();
    private final Set<String> inactive = ConcurrentHashMap.newKeySet();

    private Consumer<String> consumer(String topicName, String name, int priority) throws PulsarClientException {
        return subscribe(topicName, "s", SubscriptionType.Failover).consumerName(name).priorityLevel(priority)
                .consumerEventListener(new ConsumerEventListener() {
                    @Override
                    public void becameActive(Consumer<?> consumer, int partition) {
                        inactive.remove(name + "/" + partition);
                        active.add(name + "/" + partition);
                    }

                    @Override
                    public void becameInactive(Consumer<?> consumer, int partition) {
                        active.remove(name + "/" + partition);
                        inactive.add(name + "/" + partition);
                    }
                }).subscribe();
    }

    @Test
    void theOnlyConsumerIsToldThatItIsActive() throws Exception {
        consumer(topic, "a", 0);
        Eventually.until("active", () -> active.equals(Set.of("a/-1")));
    }

    @Test
    void exactlyOneOfTwoConsumersIsActive() throws Exception {
        consumer(topic, "a", 0);
        consumer(topic, "b", 0);
        Eventually.until("one active, one not", () -> active.size() == 1 && inactive.size() == 1);
    }

    @Test
    void theConsumerOfHigherPriorityIsActive() throws Exception {
        consumer(topic, "low", 2);
        consumer(topic, "high", 1);
        Eventually.until("high is active", () -> active.equals(Set.of("high/-1")));
    }

    @Test
    void theStandbyTakesOverInOrder() throws Exception {
        Consumer<String> high = consumer(topic, "high", 0);
        Eventually.until("high is active", () -> active.contains("high/-1"));
        Consumer<String> low = consumer(topic, "low", 1);
        sendBatch(unbatched(topic), numbered("v", 6));
        assertEquals(List.of("v0", "v1"), values(high, 2));
        assertQuiet(low);
        high.close();
        assertEquals(List.of("v2", "v3", "v4", "v5"), values(low, 4));
        Eventually.until("low is told so", () -> active.contains("low/-1"));
    }

    @Test
    void theStandbyTakesOverWhenAConnectionDies() throws Exception {
        var other = newClient();
        Consumer<String> low = consumer(topic, "low", 1);
        client = other;
        consumer(topic, "high", 0);
        Eventually.until("high is active", () -> active.equals(Set.of("high/-1")));
        other.shutdown();
        Eventually.until("low is active", () -> active.contains("low/-1"));
        assertTrue(low.isConnected());
    }

    @Test
    void thePartitionsAreSharedOutBetweenTheConsumers() throws Exception {
        ADMIN.topics().createPartitionedTopic(topic, 4);
        consumer(topic, "a", 0);
        consumer(topic, "b", 0);
        Eventually.until("two partitions each", () ->
                new TreeSet<>(active).equals(new TreeSet<>(List.of("a/0", "a/2", "b/1", "b/3"))));
    }

    @Test
    void aMessageGoesToOneConsumerOnly() throws Exception {
        Consumer<String> a = consumer(topic, "a", 0);
        Consumer<String> b = consumer(topic, "b", 0);
        Eventually.until("one is active", () -> active.size() == 1 && inactive.size() == 1);
        boolean aIsActive = active.contains("a/-1");
        sendBatch(unbatched(topic), numbered("v", 10));
        List<String> got = new ArrayList<>(values(aIsActive ? a : b, 10));
        assertEquals(List.of(numbered("v", 10)), got);
        assertQuiet(aIsActive ? b : a);
        assertFalse(active.isEmpty());
    }

    @Test
    void statsNameTheActiveConsumer() throws Exception {
        consumer(topic, "low", 2);
        consumer(topic, "high", 1);
        Eventually.until("high is named", () -> "high".equals(
                ADMIN.topics().getStats(topic).getSubscriptions().get("s").getActiveConsumerName()));
    }
}
