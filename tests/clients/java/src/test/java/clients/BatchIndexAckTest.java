package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.SubscriptionType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class BatchIndexAckTest extends ClientTest {
    private Consumer<String> consumer(SubscriptionType type) throws PulsarClientException {
        return subscribe(topic, "s", type).acknowledgmentGroupTime(0, TimeUnit.MILLISECONDS)
                .enableBatchIndexAcknowledgment(true).isAckReceiptEnabled(true).subscribe();
    }

    /** Acknowledges the even ones of a batch of ten, and closes. */
    private void acknowledgeEven(SubscriptionType type) throws Exception {
        sendBatch(batched(topic), numbered("v", 10));
        Consumer<String> consumer = consumer(type);
        for (int i = 0; i < 10; i++) {
            Message<String> message = receive(consumer);
            if (i % 2 == 0) {
                consumer.acknowledge(message);
            }
        }
        consumer.close();
    }

    @ParameterizedTest
    @EnumSource(SubscriptionType.class)
    void theRestOfABatchComesAgain(SubscriptionType type) throws Exception {
        acknowledgeEven(type);
        Consumer<String> consumer = consumer(type);
        assertEquals(List.of("v1", "v3", "v5", "v7", "v9"), values(consumer, 5));
        assertQuiet(consumer);
    }

    /** The released 4.0.7 forgets it: it comes back whole there. */
    @Test
    @Tag("beyond")
    void aPartlyAcknowledgedBatchSurvivesAnUnload() throws Exception {
        acknowledgeEven(SubscriptionType.Shared);
        ADMIN.topics().unload(topic);
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        assertEquals(List.of("v1", "v3", "v5", "v7", "v9"), values(consumer, 5));
        assertQuiet(consumer);
    }

    @Test
    void acknowledgingTheRestEndsTheBatch() throws Exception {
        acknowledgeEven(SubscriptionType.Shared);
        values(consumer(SubscriptionType.Shared), 5);
        Eventually.until("no backlog",
                () -> ADMIN.topics().getStats(topic).getSubscriptions().get("s").getMsgBacklog() == 0);
    }

    @Test
    void aNegativelyAcknowledgedMessageComesWithoutItsAcknowledgedNeighbours() throws Exception {
        sendBatch(batched(topic), numbered("v", 3));
        Consumer<String> consumer = subscribe(topic, "s", SubscriptionType.Shared)
                .acknowledgmentGroupTime(0, TimeUnit.MILLISECONDS).enableBatchIndexAcknowledgment(true)
                .negativeAckRedeliveryDelay(200, TimeUnit.MILLISECONDS).subscribe();
        consumer.acknowledge(receive(consumer));
        consumer.negativeAcknowledge(receive(consumer));
        consumer.acknowledge(receive(consumer));
        assertEquals("v1", receive(consumer).getValue());
        assertQuiet(consumer);
    }

    @Test
    void twoConsumersOfOneBatchBothCount() throws Exception {
        sendBatch(batched(topic), numbered("v", 4));
        Consumer<String> first = consumer(SubscriptionType.Shared);
        List<Message<String>> messages = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            messages.add(receive(first));
        }
        first.acknowledge(messages.get(0));
        first.close();
        Consumer<String> second = consumer(SubscriptionType.Shared);
        second.acknowledge(receive(second));
        second.close();
        assertEquals(List.of("v2", "v3"), values(consumer(SubscriptionType.Shared), 2));
    }
}
