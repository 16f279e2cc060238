package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.common.policies.data.DelayedDeliveryPolicies;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class DelayedDeliveryTest extends ClientTest {
    /** By default a message may come one tick too early. */
    private static final long TICK_MILLIS = 1000;

    private Consumer<String> consumer(SubscriptionType type) throws PulsarClientException {
        return subscribe(topic, "s", type).subscribe();
    }

    private static void sendLater(Producer<String> producer, String value, long millis) throws PulsarClientException {
        producer.newMessage().value(value).key(value).deliverAfter(millis, TimeUnit.MILLISECONDS).send();
    }

    @ParameterizedTest
    @EnumSource(value = SubscriptionType.class, names = {"Shared", "Key_Shared"})
    void aMessageComesWhenItsTimeHasCome(SubscriptionType type) throws Exception {
        Consumer<String> consumer = consumer(type);
        long sent = System.currentTimeMillis();
        sendLater(unbatched(topic), "later", 2500);
        assertEquals("later", receive(consumer).getValue());
        long waited = System.currentTimeMillis() - sent;
        assertTrue(waited >= 2500 - TICK_MILLIS && waited < 6000, "came after " + waited + " ms");
    }

    @Test
    void messagesWithoutADelayGoPast() throws Exception {
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        Producer<String> producer = unbatched(topic);
        sendLater(producer, "later", 3000);
        producer.send("now");
        assertEquals(List.of("now", "later"), values(consumer, 2));
    }

    @Test
    void theOrderIsThatOfTheTimes() throws Exception {
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        Producer<String> producer = unbatched(topic);
        sendLater(producer, "third", 7000);
        sendLater(producer, "second", 4500);
        sendLater(producer, "first", 2000);
        assertEquals(List.of("first", "second", "third"), values(consumer, 3));
    }

    @Test
    void anAbsoluteTimeCountsToo() throws Exception {
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        long due = System.currentTimeMillis() + 2500;
        unbatched(topic).newMessage().value("at").deliverAt(due).send();
        receive(consumer);
        assertTrue(System.currentTimeMillis() >= due - TICK_MILLIS);
    }

    @ParameterizedTest
    @EnumSource(value = SubscriptionType.class, names = {"Exclusive", "Failover"})
    void otherTypesGetItAtOnce(SubscriptionType type) throws Exception {
        Consumer<String> consumer = consumer(type);
        sendLater(unbatched(topic), "later", 3_600_000);
        assertEquals("later", receive(consumer).getValue());
    }

    @Test
    void itSurvivesAnUnload() throws Exception {
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        Producer<String> producer = unbatched(topic);
        long sent = System.currentTimeMillis();
        sendLater(producer, "later", 4000);
        producer.send("now");
        assertEquals(List.of("now"), values(consumer, 1));
        ADMIN.topics().unload(topic);
        assertEquals("later", receive(consumer).getValue());
        assertTrue(System.currentTimeMillis() - sent >= 4000 - TICK_MILLIS);
    }

    @Test
    void itIsShownApartInTheStats() throws Exception {
        consumer(SubscriptionType.Shared);
        sendLater(unbatched(topic), "later", 3_600_000);
        Eventually.until("one is delayed",
                () -> ADMIN.topics().getStats(topic).getSubscriptions().get("s").getMsgDelayed() == 1);
    }

    @Test
    void manyWithOneDueTimeAllArrive() throws Exception {
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        Producer<String> producer = unbatched(topic);
        long due = System.currentTimeMillis() + 2000;
        for (String value : numbered("v", 200)) {
            producer.newMessage().value(value).deliverAt(due).sendAsync();
        }
        producer.flush();
        assertEquals(200, new java.util.TreeSet<>(values(consumer, 200)).size());
    }

    @Test
    void aNamespaceMayTurnItOff() throws Exception {
        String namespace = newNamespace();
        ADMIN.namespaces().setDelayedDeliveryMessages(namespace,
                DelayedDeliveryPolicies.builder().active(false).tickTime(1000).build());
        topic = newTopic(namespace);
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        sendLater(unbatched(topic), "at once", 3_600_000);
        assertEquals("at once", receive(consumer).getValue());
    }

    @Test
    void whatIsDelayedIsBacklog() throws Exception {
        consumer(SubscriptionType.Shared);
        List<String> sent = new ArrayList<>(List.of("a", "b"));
        for (String value : sent) {
            sendLater(unbatched(topic), value, 3_600_000);
        }
        assertEquals(2, ADMIN.topics().getStats(topic).getSubscriptions().get("s").getMsgBacklog());
    }
}
