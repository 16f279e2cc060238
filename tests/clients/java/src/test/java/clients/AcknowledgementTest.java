package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.SubscriptionType;
import org.junit.jupiter.api.Test;

class AcknowledgementTest extends ClientTest {
    /** A consumer whose acknowledgements leave at once. */
    private Consumer<String> consumer(SubscriptionType type) throws PulsarClientException {
        return subscribe(topic, "s", type).acknowledgmentGroupTime(0, TimeUnit.MILLISECONDS).subscribe();
    }

    private static List<Message<String>> receive(Consumer<String> consumer, int count) throws Exception {
        List<Message<String>> messages = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            messages.add(receive(consumer));
        }
        return messages;
    }

    @Test
    void whatIsAcknowledgedDoesNotComeAgain() throws Exception {
        sendBatch(unbatched(topic), numbered("v", 10));
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        for (Message<String> message : receive(consumer, 10)) {
            if (Integer.parseInt(message.getValue().substring(1)) % 2 == 0) {
                consumer.acknowledge(message);
            }
        }
        consumer.close();
        assertEquals(Set.of("v1", "v3", "v5", "v7", "v9"), new TreeSet<>(values(consumer(SubscriptionType.Shared), 5)));
    }

    @Test
    void acknowledgingCumulativelyIncludesAllBefore() throws Exception {
        sendBatch(unbatched(topic), numbered("v", 10));
        Consumer<String> consumer = consumer(SubscriptionType.Exclusive);
        consumer.acknowledgeCumulative(receive(consumer, 7).get(6));
        consumer.close();
        assertEquals(List.of("v7", "v8", "v9"), values(consumer(SubscriptionType.Exclusive), 3));
    }

    @Test
    void acknowledgingCumulativelyInsideABatchKeepsTheRest() throws Exception {
        sendBatch(batched(topic), numbered("v", 10));
        Consumer<String> consumer = subscribe(topic, "s", SubscriptionType.Exclusive)
                .acknowledgmentGroupTime(0, TimeUnit.MILLISECONDS).enableBatchIndexAcknowledgment(true).subscribe();
        consumer.acknowledgeCumulative(receive(consumer, 7).get(6));
        consumer.close();
        assertEquals(List.of("v7", "v8", "v9"), values(consumer(SubscriptionType.Exclusive), 3));
    }

    @Test
    void aSharedConsumerMayNotAcknowledgeCumulatively() throws Exception {
        unbatched(topic).send("v");
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        Message<String> message = receive(consumer);
        assertThrows(PulsarClientException.InvalidConfigurationException.class,
                () -> consumer.acknowledgeCumulative(message));
    }

    @Test
    void aListIsAcknowledgedAsAWhole() throws Exception {
        sendBatch(unbatched(topic), numbered("v", 10));
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        List<MessageId> ids = receive(consumer, 10).subList(2, 8).stream().map(Message::getMessageId).toList();
        consumer.acknowledge(ids);
        consumer.close();
        assertEquals(Set.of("v0", "v1", "v8", "v9"), new TreeSet<>(values(consumer(SubscriptionType.Shared), 4)));
    }

    @Test
    void groupedAcknowledgementsArriveWhenTheConsumerCloses() throws Exception {
        sendBatch(unbatched(topic), numbered("v", 10));
        Consumer<String> consumer = subscribe(topic, "s", SubscriptionType.Shared)
                .acknowledgmentGroupTime(1, TimeUnit.HOURS).subscribe();
        values(consumer, 9);
        consumer.close();
        assertEquals(List.of("v9"), values(consumer(SubscriptionType.Shared), 1));
    }

    @Test
    void holesSurviveAnUnload() throws Exception {
        sendBatch(unbatched(topic), numbered("v", 100));
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        Set<String> kept = new TreeSet<>();
        for (Message<String> message : receive(consumer, 100)) {
            if (Integer.parseInt(message.getValue().substring(1)) % 3 == 0) {
                consumer.acknowledge(message);
            } else {
                kept.add(message.getValue());
            }
        }
        consumer.close();
        ADMIN.topics().unload(topic);
        assertEquals(kept, new TreeSet<>(values(consumer(SubscriptionType.Shared), kept.size())));
    }

    @Test
    void aBatchIsDoneWhenItsLastMessageIsAcknowledged() throws Exception {
        sendBatch(batched(topic), numbered("v", 5));
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        assertEquals(5, values(consumer, 5).size());
        Eventually.until("no backlog",
                () -> ADMIN.topics().getStats(topic).getSubscriptions().get("s").getMsgBacklog() == 0);
    }

    @Test
    void batchReceiveHandsOutAndAcknowledgesManyAtOnce() throws Exception {
        sendBatch(unbatched(topic), numbered("v", 20));
        Consumer<String> consumer = subscribe(topic, "s", SubscriptionType.Shared)
                .batchReceivePolicy(org.apache.pulsar.client.api.BatchReceivePolicy.builder().maxNumMessages(20)
                        .timeout(10, TimeUnit.SECONDS).build()).subscribe();
        var messages = consumer.batchReceive();
        assertEquals(20, messages.size());
        consumer.acknowledge(messages);
        Eventually.until("no backlog",
                () -> ADMIN.topics().getStats(topic).getSubscriptions().get("s").getMsgBacklog() == 0);
    }
}
