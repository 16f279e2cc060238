package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.common.policies.data.ConsumerStats;
import org.apache.pulsar.common.policies.data.ManagedLedgerInternalStats.CursorStats;
import org.apache.pulsar.common.policies.data.PersistentTopicInternalStats;
import org.apache.pulsar.common.policies.data.PublisherStats;
import org.apache.pulsar.common.policies.data.SubscriptionStats;
import org.apache.pulsar.common.policies.data.TopicStats;
import org.junit.jupiter.api.Test;

class StatsTest extends ClientTest {
    private TopicStats stats() throws Exception {
        return ADMIN.topics().getStats(topic);
    }

    private SubscriptionStats subscription() throws Exception {
        return stats().getSubscriptions().get("s");
    }

    @Test
    void whatCameInIsCounted() throws Exception {
        sendBatch(unbatched(topic), "abc", "def");
        TopicStats stats = stats();
        assertEquals(2, stats.getMsgInCounter());
        assertTrue(stats.getBytesInCounter() > 6);
        assertTrue(stats.getStorageSize() > 6);
    }

    @Test
    void aBatchCountsAsItsMessages() throws Exception {
        sendBatch(batched(topic), numbered("v", 10));
        assertEquals(10, stats().getMsgInCounter());
        assertEquals(1, ADMIN.topics().getInternalStats(topic).entriesAddedCounter);
    }

    @Test
    void whatWentOutIsCounted() throws Exception {
        sendBatch(unbatched(topic), "a", "b");
        values(exclusive(topic), 2);
        assertEquals(2, stats().getMsgOutCounter());
        assertEquals(2, subscription().getMsgOutCounter());
        assertTrue(subscription().getBytesOutCounter() > 0);
        assertEquals(2, subscription().getConsumers().get(0).getMsgOutCounter());
    }

    @Test
    void aProducerIsDescribed() throws Exception {
        Producer<String> producer = client.newProducer(Schema.STRING).topic(topic).property("p", "1").create();
        PublisherStats publisher = stats().getPublishers().get(0);
        assertEquals(producer.getProducerName(), publisher.getProducerName());
        assertEquals(Map.of("p", "1"), publisher.getMetadata());
        assertTrue(publisher.getClientVersion().contains("4.0"), publisher.getClientVersion());
        assertNotNull(publisher.getAddress());
        assertNotNull(publisher.getConnectedSince());
    }

    @Test
    void aConsumerIsDescribed() throws Exception {
        sendBatch(unbatched(topic), numbered("v", 10));
        Consumer<String> consumer = subscribe(topic, "s", SubscriptionType.Shared).receiverQueueSize(100).subscribe();
        receive(consumer);
        Eventually.until("ten are unacknowledged", () -> subscription().getUnackedMessages() == 10);
        ConsumerStats stats = subscription().getConsumers().get(0);
        assertEquals(consumer.getConsumerName(), stats.getConsumerName());
        assertEquals(10, stats.getUnackedMessages());
        assertEquals(90, stats.getAvailablePermits());
        assertFalse(stats.isBlockedConsumerOnUnackedMsgs());
        assertNotNull(stats.getAddress());
        assertNotNull(stats.getConnectedSince());
        assertTrue(stats.getClientVersion().contains("4.0"), stats.getClientVersion());
    }

    @Test
    void aSubscriptionIsDescribed() throws Exception {
        subscribe(topic, "s", SubscriptionType.Failover).subscribe();
        assertEquals("Failover", subscription().getType());
        assertTrue(subscription().isDurable());
        assertFalse(subscription().isReplicated());
    }

    @Test
    void theBacklogIsCountedInMessagesAndBytes() throws Exception {
        exclusive(topic).close();
        sendBatch(unbatched(topic), numbered("v", 10));
        assertEquals(10, ADMIN.topics().getStats(topic, true).getSubscriptions().get("s").getMsgBacklog());
        assertTrue(ADMIN.topics().getStats(topic, false, true).getSubscriptions().get("s").getBacklogSize() > 0);
        assertTrue(stats().getBacklogSize() > 0);
    }

    @Test
    void theOldestUnacknowledgedMessageHasAnAge() throws Exception {
        exclusive(topic).close();
        long before = System.currentTimeMillis();
        unbatched(topic).send("v");
        long earliest = ADMIN.topics().getStats(topic, false, true, true).getSubscriptions().get("s")
                .getEarliestMsgPublishTimeInBacklog();
        assertTrue(earliest >= before && earliest <= System.currentTimeMillis(), String.valueOf(earliest));
    }

    @Test
    void acknowledgingEmptiesTheBacklog() throws Exception {
        sendBatch(unbatched(topic), "a", "b");
        values(exclusive(topic), 2);
        Eventually.until("no backlog", () -> subscription().getMsgBacklog() == 0);
        assertEquals(0, ADMIN.topics().getStats(topic, false, true).getSubscriptions().get("s").getBacklogSize());
    }

    @Test
    void theInternalStatsShowLedgersAndPositions() throws Exception {
        MessageId last = unbatched(topic).send("v");
        PersistentTopicInternalStats stats = ADMIN.topics().getInternalStats(topic);
        assertEquals(1, stats.entriesAddedCounter);
        assertEquals(1, stats.numberOfEntries);
        assertTrue(stats.totalSize > 0);
        assertFalse(stats.ledgers.isEmpty());
        assertEquals("LedgerOpened", stats.state);
        assertTrue(last.toString().startsWith(stats.lastConfirmedEntry), stats.lastConfirmedEntry);
    }

    @Test
    void theInternalStatsShowTheCursor() throws Exception {
        Producer<String> producer = unbatched(topic);
        Consumer<String> consumer = subscribe(topic, "s", SubscriptionType.Shared).subscribe();
        MessageId first = producer.send("a");
        producer.send("b");
        MessageId third = producer.send("c");
        consumer.acknowledge(receive(consumer));
        receive(consumer);
        consumer.acknowledge(receive(consumer));
        Eventually.until("the hole is shown", () -> {
            CursorStats cursor = ADMIN.topics().getInternalStats(topic).cursors.get("s");
            return first.toString().startsWith(cursor.markDeletePosition)
                    && cursor.individuallyDeletedMessages.contains(
                            third.toString().replaceAll(":-1:-1$|:-1$", ""));
        });
        Eventually.until("the cursor is open",
                () -> "Open".equals(ADMIN.topics().getInternalStats(topic).cursors.get("s").state));
    }

    @Test
    void aNewTopicHasNoCounts() throws Exception {
        ADMIN.topics().createNonPartitionedTopic(topic);
        TopicStats stats = stats();
        assertEquals(0, stats.getMsgInCounter());
        assertEquals(0, stats.getPublishers().size());
        assertEquals(0, stats.getSubscriptions().size());
        assertEquals(0, stats.getStorageSize());
    }

    @Test
    void theAdminPeeksAtABacklog() throws Exception {
        exclusive(topic).close();
        sendBatch(unbatched(topic), "a", "b");
        assertEquals("b", new String(ADMIN.topics().peekMessages(topic, "s", 2).get(1).getData()));
    }
}
