package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.SubscriptionMode;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.common.policies.data.ConsumerStats;
import org.apache.pulsar.common.policies.data.SubscriptionStats;
import org.junit.jupiter.api.Test;

class SubscriptionOptionsTest extends ClientTest {
    private SubscriptionStats stats() throws Exception {
        return ADMIN.topics().getStats(topic).getSubscriptions().get("s");
    }

    @Test
    void anEarliestSubscriptionBeginsWithTheFirstMessage() throws Exception {
        sendBatch(unbatched(topic), "old");
        assertEquals(List.of("old"), values(exclusive(topic), 1));
    }

    @Test
    void aLatestSubscriptionBeginsWithTheNextMessage() throws Exception {
        Producer<String> producer = unbatched(topic);
        producer.send("old");
        Consumer<String> consumer = subscribe(topic, "s", SubscriptionType.Exclusive)
                .subscriptionInitialPosition(SubscriptionInitialPosition.Latest).subscribe();
        producer.send("new");
        assertEquals(List.of("new"), values(consumer, 1));
    }

    @Test
    void theInitialPositionCountsOnlyTheFirstTime() throws Exception {
        Producer<String> producer = unbatched(topic);
        exclusive(topic).close();
        producer.send("while away");
        Consumer<String> consumer = subscribe(topic, "s", SubscriptionType.Exclusive)
                .subscriptionInitialPosition(SubscriptionInitialPosition.Latest).subscribe();
        assertEquals(List.of("while away"), values(consumer, 1));
    }

    @Test
    void propertiesOfASubscriptionAreKept() throws Exception {
        subscribe(topic, "s", SubscriptionType.Exclusive).subscriptionProperties(Map.of("team", "a")).subscribe()
                .close();
        assertEquals(Map.of("team", "a"), ADMIN.topics().getSubscriptionProperties(topic, "s"));
        assertEquals(Map.of("team", "a"), stats().getSubscriptionProperties());
    }

    @Test
    void propertiesAreSetWhenTheSubscriptionIsMade() throws Exception {
        subscribe(topic, "s", SubscriptionType.Exclusive).subscriptionProperties(Map.of("team", "a")).subscribe()
                .close();
        subscribe(topic, "s", SubscriptionType.Exclusive).subscriptionProperties(Map.of("team", "b")).subscribe();
        assertEquals(Map.of("team", "a"), ADMIN.topics().getSubscriptionProperties(topic, "s"));
    }

    @Test
    void aNonDurableSubscriptionGoesWithItsConsumer() throws Exception {
        Consumer<String> consumer = subscribe(topic, "s", SubscriptionType.Exclusive)
                .subscriptionMode(SubscriptionMode.NonDurable).subscribe();
        assertFalse(stats().isDurable());
        consumer.close();
        Eventually.until("gone", () -> ADMIN.topics().getSubscriptions(topic).isEmpty());
    }

    @Test
    void aNonDurableSubscriptionMayNotTakeTheNameOfADurableOne() throws Exception {
        exclusive(topic).close();
        assertThrows(PulsarClientException.class, () -> subscribe(topic, "s", SubscriptionType.Exclusive)
                .subscriptionMode(SubscriptionMode.NonDurable).subscribe());
    }

    @Test
    void theNameAndPropertiesOfAConsumerAreShown() throws Exception {
        subscribe(topic, "s", SubscriptionType.Exclusive).consumerName("me").property("p", "1").subscribe();
        ConsumerStats consumer = stats().getConsumers().get(0);
        assertEquals("me", consumer.getConsumerName());
        assertEquals(Map.of("p", "1"), consumer.getMetadata());
    }

    @Test
    void aReplicatedSubscriptionIsAccepted() throws Exception {
        unbatched(topic).send("v");
        assertEquals(List.of("v"), values(subscribe(topic, "s", SubscriptionType.Exclusive)
                .replicateSubscriptionState(true).subscribe(), 1));
    }

    @Test
    void startMessageIdInclusiveBeginsWithThatMessage() throws Exception {
        Producer<String> producer = unbatched(topic);
        producer.send("a");
        MessageId second = producer.send("b");
        producer.send("c");
        try (var reader = client.newReader(Schema.STRING).topic(topic).startMessageId(second)
                .startMessageIdInclusive().create()) {
            assertEquals("b", reader.readNext().getValue());
        }
    }

    @Test
    void aPausedConsumerKeepsWhatItHasAndGoesOn() throws Exception {
        Consumer<String> consumer = subscribe(topic, "s", SubscriptionType.Exclusive).receiverQueueSize(1).subscribe();
        consumer.pause();
        sendBatch(unbatched(topic), numbered("v", 10));
        consumer.resume();
        assertEquals(List.of(numbered("v", 10)), values(consumer, 10));
    }

    @Test
    void aQueueOfZeroFetchesOneMessageAtATime() throws Exception {
        sendBatch(unbatched(topic), numbered("v", 3));
        Consumer<String> consumer = subscribe(topic, "s", SubscriptionType.Shared).receiverQueueSize(0).subscribe();
        assertEquals("v0", consumer.receiveAsync().get(10, TimeUnit.SECONDS).getValue());
        assertEquals("v1", consumer.receiveAsync().get(10, TimeUnit.SECONDS).getValue());
        assertTrue(stats().getUnackedMessages() <= 2);
    }
}
