package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.SubscriptionType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AckReceiptTest extends ClientTest {
    private Consumer<String> consumer(SubscriptionType type, int groupMillis) throws Exception {
        return subscribe(topic, "s", type).isAckReceiptEnabled(true)
                .acknowledgmentGroupTime(groupMillis, TimeUnit.MILLISECONDS).subscribe();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 100})
    void anAcknowledgementIsAnsweredWhenItIsDone(int groupMillis) throws Exception {
        sendBatch(unbatched(topic), "a", "b");
        Consumer<String> consumer = consumer(SubscriptionType.Shared, groupMillis);
        consumer.acknowledgeAsync(receive(consumer)).get(10, TimeUnit.SECONDS);
        consumer.acknowledgeAsync(receive(consumer)).get(10, TimeUnit.SECONDS);
        assertEquals(0, ADMIN.topics().getStats(topic).getSubscriptions().get("s").getMsgBacklog());
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 100})
    void aCumulativeAcknowledgementIsAnswered(int groupMillis) throws Exception {
        sendBatch(unbatched(topic), "a", "b");
        Consumer<String> consumer = consumer(SubscriptionType.Exclusive, groupMillis);
        receive(consumer);
        consumer.acknowledgeCumulativeAsync(receive(consumer)).get(10, TimeUnit.SECONDS);
        Eventually.until("no backlog",
                () -> ADMIN.topics().getStats(topic).getSubscriptions().get("s").getMsgBacklog() == 0);
    }

    @Test
    void everyMessageOfABatchGetsAnAnswer() throws Exception {
        sendBatch(batched(topic), numbered("v", 10));
        Consumer<String> consumer = consumer(SubscriptionType.Shared, 50);
        CompletableFuture<?>[] answers = new CompletableFuture<?>[10];
        for (int i = 0; i < 10; i++) {
            answers[i] = consumer.acknowledgeAsync(receive(consumer));
        }
        CompletableFuture.allOf(answers).get(10, TimeUnit.SECONDS);
    }
}
