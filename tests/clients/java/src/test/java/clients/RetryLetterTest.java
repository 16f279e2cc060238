package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.DeadLetterPolicy;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.SubscriptionType;
import org.junit.jupiter.api.Test;

class RetryLetterTest extends ClientTest {
    private Consumer<String> consumer(int tries) throws PulsarClientException {
        return subscribe(topic, "s", SubscriptionType.Shared).enableRetry(true)
                .deadLetterPolicy(DeadLetterPolicy.builder().maxRedeliverCount(tries).build()).subscribe();
    }

    @Test
    void aMessageForLaterComesAgainAfterItsDelay() throws Exception {
        unbatched(topic).send("v");
        Consumer<String> consumer = consumer(3);
        Message<String> message = receive(consumer);
        long put = System.currentTimeMillis();
        consumer.reconsumeLater(message, 2, TimeUnit.SECONDS);
        Message<String> again = receive(consumer);
        assertEquals("v", again.getValue());
        assertTrue(System.currentTimeMillis() - put >= 900, "too early");
        assertEquals("1", again.getProperty("RECONSUMETIMES"));
        assertEquals("2000", again.getProperty("DELAY_TIME"));
        assertEquals(topic, again.getProperty("REAL_TOPIC"));
    }

    @Test
    void ownPropertiesTravelWithTheRetry() throws Exception {
        unbatched(topic).send("v");
        Consumer<String> consumer = consumer(3);
        consumer.reconsumeLater(receive(consumer), Map.of("why", "busy"), 1, TimeUnit.MILLISECONDS);
        assertEquals("busy", receive(consumer).getProperty("why"));
    }

    @Test
    void afterTheLastRetryTheMessageIsADeadLetter() throws Exception {
        unbatched(topic).send("v");
        Consumer<String> dead = exclusive(topic + "-s-DLQ");
        Consumer<String> consumer = consumer(2);
        for (int i = 0; i < 3; i++) {
            consumer.reconsumeLater(receive(consumer), 1, TimeUnit.MILLISECONDS);
        }
        assertEquals(List.of("v"), values(dead, 1));
    }

    @Test
    void aCumulativeRetryTakesAllBefore() throws Exception {
        sendBatch(unbatched(topic), "a", "b");
        Consumer<String> consumer = subscribe(topic, "s", SubscriptionType.Failover).enableRetry(true).subscribe();
        receive(consumer);
        consumer.reconsumeLaterCumulative(receive(consumer), 1, TimeUnit.MILLISECONDS);
        assertEquals("b", receive(consumer).getValue());
        Eventually.until("no backlog",
                () -> ADMIN.topics().getStats(topic).getSubscriptions().get("s").getMsgBacklog() == 0);
    }
}
