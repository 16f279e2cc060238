package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.common.policies.data.DispatchRate;
import org.apache.pulsar.common.policies.data.PublishRate;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class RatesTest extends ClientTest {
    /** A second of grace at the start: a limiter may begin with a full bucket. */
    private static final int RATE = 20;
    private static final int MESSAGES = 100;
    private static final long AT_LEAST_MILLIS = (MESSAGES / RATE - 2) * 1000L;

    private String namespace;

    @BeforeEach
    void createNamespace() throws Exception {
        namespace = newNamespace();
        topic = newTopic(namespace);
    }

    private static DispatchRate dispatchRate() {
        return DispatchRate.builder().dispatchThrottlingRateInMsg(RATE).dispatchThrottlingRateInByte(-1)
                .ratePeriodInSecond(1).build();
    }

    private void assertSlowlyPublished() throws Exception {
        Producer<String> producer = client.newProducer(Schema.STRING).topic(topic).enableBatching(false)
                .sendTimeout(1, TimeUnit.MINUTES).create();
        long start = System.nanoTime();
        sendBatch(producer, numbered("v", MESSAGES));
        assertSlow(start);
    }

    private void assertSlowlyDelivered(Consumer<String> consumer) throws Exception {
        sendBatch(unbatched(topic), numbered("v", MESSAGES));
        long start = System.nanoTime();
        assertEquals(MESSAGES, values(consumer, MESSAGES).size());
        assertSlow(start);
    }

    private static void assertSlow(long start) {
        long took = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
        assertTrue(took >= AT_LEAST_MILLIS, MESSAGES + " messages took only " + took + " ms");
    }

    @Test
    void publishingKeepsToTheRateOfTheNamespace() throws Exception {
        ADMIN.namespaces().setPublishRate(namespace, new PublishRate(RATE, -1));
        assertSlowlyPublished();
    }

    @Test
    void publishingKeepsToTheRateOfTheTopic() throws Exception {
        unbatched(topic).close();
        ADMIN.topicPolicies().setPublishRate(topic, new PublishRate(RATE, -1));
        Eventually.until("the rate holds", () -> {
            assertSlowlyPublished();
            return true;
        });
    }

    @Test
    void dispatchKeepsToTheRateOfTheNamespace() throws Exception {
        ADMIN.namespaces().setDispatchRate(namespace, dispatchRate());
        assertSlowlyDelivered(exclusive(topic));
    }

    @Test
    void dispatchKeepsToTheRateOfTheSubscription() throws Exception {
        ADMIN.namespaces().setSubscriptionDispatchRate(namespace, dispatchRate());
        assertSlowlyDelivered(subscribe(topic, "s", SubscriptionType.Shared).subscribe());
    }

    @Test
    void aPublishRateIsLiftedLive() throws Exception {
        ADMIN.namespaces().setPublishRate(namespace, new PublishRate(1, -1));
        Producer<String> producer = client.newProducer(Schema.STRING).topic(topic).enableBatching(false)
                .sendTimeout(1, TimeUnit.MINUTES).create();
        for (String value : numbered("v", 20)) {
            producer.sendAsync(value);
        }
        ADMIN.namespaces().removePublishRate(namespace);
        producer.flushAsync().get(15, TimeUnit.SECONDS);
    }
}
