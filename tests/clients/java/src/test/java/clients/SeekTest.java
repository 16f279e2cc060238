package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.SubscriptionType;
import org.junit.jupiter.api.Test;

class SeekTest extends ClientTest {
    private List<MessageId> send(int count) throws Exception {
        Producer<String> producer = unbatched(topic);
        List<MessageId> ids = new ArrayList<>();
        for (String value : numbered("v", count)) {
            ids.add(producer.send(value));
        }
        return ids;
    }

    @Test
    void toAnIdTheNextMessageFollows() throws Exception {
        List<MessageId> ids = send(5);
        Consumer<String> consumer = exclusive(topic);
        values(consumer, 5);
        consumer.seek(ids.get(2));
        assertEquals(List.of("v3", "v4"), values(consumer, 2));
    }

    @Test
    void toAnIdInclusiveThatMessageFollows() throws Exception {
        List<MessageId> ids = send(5);
        Consumer<String> consumer =
                subscribe(topic, "s", SubscriptionType.Exclusive).startMessageIdInclusive().subscribe();
        values(consumer, 5);
        consumer.seek(ids.get(2));
        assertEquals(List.of("v2", "v3", "v4"), values(consumer, 3));
    }

    @Test
    void forwardItSkips() throws Exception {
        List<MessageId> ids = send(5);
        Consumer<String> consumer = exclusive(topic);
        consumer.seek(ids.get(3));
        assertEquals(List.of("v4"), values(consumer, 1));
    }

    @Test
    void toTheEarliestEverythingFollows() throws Exception {
        send(3);
        Consumer<String> consumer = exclusive(topic);
        values(consumer, 3);
        consumer.seek(MessageId.earliest);
        assertEquals(List.of("v0", "v1", "v2"), values(consumer, 3));
    }

    @Test
    void toTheLatestOnlyNewMessagesFollow() throws Exception {
        send(3);
        Consumer<String> consumer = exclusive(topic);
        consumer.seek(MessageId.latest);
        unbatched(topic).send("new");
        assertEquals(List.of("new"), values(consumer, 1));
    }

    @Test
    void toATimeTheMessagesFromThenOnFollow() throws Exception {
        send(2);
        long between = System.currentTimeMillis() + 1;
        Eventually.until("the clock has moved on", () -> System.currentTimeMillis() > between);
        unbatched(topic).send("later");
        Consumer<String> consumer = exclusive(topic);
        values(consumer, 3);
        consumer.seek(between);
        assertEquals(List.of("later"), values(consumer, 1));
        assertQuiet(consumer);
    }

    @Test
    void toATimeBeforeEverythingAllFollows() throws Exception {
        send(3);
        Consumer<String> consumer = exclusive(topic);
        values(consumer, 3);
        consumer.seek(System.currentTimeMillis() - TimeUnit.HOURS.toMillis(1));
        assertEquals(List.of("v0", "v1", "v2"), values(consumer, 3));
    }

    @Test
    void insideABatchTheRestOfItFollows() throws Exception {
        sendBatch(batched(topic), numbered("v", 5));
        Consumer<String> consumer = exclusive(topic);
        receive(consumer);
        MessageId second = receive(consumer).getMessageId();
        values(consumer, 3);
        consumer.seek(second);
        assertEquals(List.of("v2", "v3", "v4"), values(consumer, 3));
    }

    @Test
    void onSharedWithOthersConnectedEverybodyComesBack() throws Exception {
        send(10);
        Consumer<String> one = subscribe(topic, "s", SubscriptionType.Shared).subscribe();
        Set<String> first = new TreeSet<>(values(one, 10));
        Consumer<String> two = subscribe(topic, "s", SubscriptionType.Shared).subscribe();
        one.seek(MessageId.earliest);
        Eventually.until("both are connected", () -> one.isConnected() && two.isConnected());
        Set<String> second = new TreeSet<>();
        Eventually.until("all ten again", () -> {
            for (Consumer<String> consumer : List.of(one, two)) {
                Message<String> message = consumer.receive(100, TimeUnit.MILLISECONDS);
                if (message != null) {
                    second.add(message.getValue());
                }
            }
            return second.equals(first);
        });
    }

    @Test
    void aSubscriptionOverPartitionsSeeksByTime() throws Exception {
        ADMIN.topics().createPartitionedTopic(topic, 3);
        send(9);
        Consumer<String> consumer = exclusive(topic);
        values(consumer, 9);
        consumer.seek(System.currentTimeMillis() - TimeUnit.HOURS.toMillis(1));
        assertEquals(9, new TreeSet<>(values(consumer, 9)).size());
    }

    @Test
    void acknowledgementsBeforeTheSeekAreForgotten() throws Exception {
        send(5);
        Consumer<String> consumer = subscribe(topic, "s", SubscriptionType.Shared)
                .acknowledgmentGroupTime(0, TimeUnit.MILLISECONDS).subscribe();
        values(consumer, 5);
        consumer.seek(MessageId.earliest);
        assertTrue(new TreeSet<>(values(consumer, 5)).size() == 5);
    }

    @Test
    void theAdminResetsASubscription() throws Exception {
        List<MessageId> ids = send(5);
        Consumer<String> consumer = exclusive(topic);
        values(consumer, 5);
        consumer.close();
        ADMIN.topics().resetCursor(topic, "s", ids.get(3));
        assertEquals(List.of("v3", "v4"), values(exclusive(topic), 2));
    }
}
