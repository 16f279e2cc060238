package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.client.impl.MultiplierRedeliveryBackoff;
import org.junit.jupiter.api.Test;

class NegativeAckTest extends ClientTest {
    private Consumer<String> consumer(SubscriptionType type) throws Exception {
        return subscribe(topic, "s", type).negativeAckRedeliveryDelay(100, TimeUnit.MILLISECONDS).subscribe();
    }

    @Test
    void onlyTheRefusedMessageComesAgainOnShared() throws Exception {
        sendBatch(unbatched(topic), "a", "b", "c");
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        consumer.acknowledge(receive(consumer));
        consumer.negativeAcknowledge(receive(consumer));
        consumer.acknowledge(receive(consumer));
        Message<String> again = receive(consumer);
        assertEquals("b", again.getValue());
        assertEquals(1, again.getRedeliveryCount());
        consumer.acknowledge(again);
        assertQuiet(consumer);
    }

    @Test
    void theRefusedMessageComesAgainOnExclusive() throws Exception {
        sendBatch(unbatched(topic), "a", "b");
        Consumer<String> consumer = consumer(SubscriptionType.Exclusive);
        consumer.acknowledge(receive(consumer));
        consumer.negativeAcknowledge(receive(consumer));
        assertEquals(List.of("b"), values(consumer, 1));
    }

    @Test
    void aBackoffMakesEachWaitLonger() throws Exception {
        unbatched(topic).send("v");
        Consumer<String> consumer = subscribe(topic, "s", SubscriptionType.Shared)
                .negativeAckRedeliveryBackoff(MultiplierRedeliveryBackoff.builder()
                        .minDelayMs(100).maxDelayMs(2000).multiplier(4).build()).subscribe();
        long[] waited = new long[3];
        for (int count = 0; count < 3; count++) {
            Message<String> message = receive(consumer);
            assertEquals(count, message.getRedeliveryCount());
            consumer.negativeAcknowledge(message);
            waited[count] = System.nanoTime();
        }
        receive(consumer);
        assertTrue(System.nanoTime() - waited[2] > 2 * (waited[1] - waited[0]), "the waits did not grow");
    }

    @Test
    void anAcknowledgementTimeoutBringsAMessageAgain() throws Exception {
        unbatched(topic).send("v");
        Consumer<String> consumer = subscribe(topic, "s", SubscriptionType.Shared)
                .ackTimeout(1, TimeUnit.SECONDS).ackTimeoutTickTime(100, TimeUnit.MILLISECONDS).subscribe();
        receive(consumer);
        assertEquals(1, receive(consumer).getRedeliveryCount());
    }

    @Test
    void redeliveringAllBringsBackAllThatIsUnacknowledged() throws Exception {
        sendBatch(unbatched(topic), "a", "b", "c");
        Consumer<String> consumer = consumer(SubscriptionType.Exclusive);
        consumer.acknowledge(receive(consumer));
        receive(consumer);
        receive(consumer);
        consumer.redeliverUnacknowledgedMessages();
        assertEquals(List.of("b", "c"), values(consumer, 2));
    }

    @Test
    void refusedMessagesOfABatchComeAgain() throws Exception {
        sendBatch(batched(topic), "a", "b", "c");
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        for (int i = 0; i < 3; i++) {
            consumer.negativeAcknowledge(receive(consumer));
        }
        assertEquals(Set.of("a", "b", "c"), new TreeSet<>(values(consumer, 3)));
    }

    @Test
    void aRefusedMessageMayGoToAnotherConsumer() throws Exception {
        Consumer<String> one = consumer(SubscriptionType.Shared);
        unbatched(topic).send("v");
        Message<String> message = receive(one);
        Consumer<String> two = consumer(SubscriptionType.Shared);
        one.pause();
        one.negativeAcknowledge(message);
        one.close();
        assertEquals(List.of("v"), values(two, 1));
    }
}
