package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.BatcherBuilder;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.KeySharedPolicy;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageListener;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Range;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionType;
import org.junit.jupiter.api.Test;

class KeySharedTest extends ClientTest {
    private static final int KEYS = 40;

    private Consumer<String> consumer(String name, KeySharedPolicy policy) throws PulsarClientException {
        return subscribe(topic, "s", SubscriptionType.Key_Shared).consumerName(name).keySharedPolicy(policy)
                .subscribe();
    }

    private Consumer<String> autoSplit(String name) throws PulsarClientException {
        return consumer(name, KeySharedPolicy.autoSplitHashRange());
    }

    private Consumer<String> sticky(String name, int from, int to) throws PulsarClientException {
        return consumer(name, KeySharedPolicy.stickyHashRange().ranges(Range.of(from, to)));
    }

    private static void sendRounds(Producer<String> producer, int rounds) throws PulsarClientException {
        for (int round = 0; round < rounds; round++) {
            for (int key = 0; key < KEYS; key++) {
                producer.newMessage().key("k" + key).value(String.valueOf(round)).sendAsync();
            }
        }
        producer.flush();
    }

    /** Everything that arrives until it is quiet, acknowledged, by key. */
    private static Map<String, List<String>> drain(Consumer<String> consumer) throws PulsarClientException {
        Map<String, List<String>> values = new HashMap<>();
        Message<String> message;
        while ((message = consumer.receive(1, TimeUnit.SECONDS)) != null) {
            values.computeIfAbsent(message.getKey(), key -> new ArrayList<>()).add(message.getValue());
            consumer.acknowledge(message);
        }
        return values;
    }

    private static void assertDisjointAndWhole(Map<String, List<String>> a, Map<String, List<String>> b, int rounds) {
        Set<String> both = new HashSet<>(a.keySet());
        both.retainAll(b.keySet());
        assertEquals(Set.of(), both);
        Map<String, List<String>> all = new HashMap<>(a);
        all.putAll(b);
        assertEquals(KEYS, all.size());
        all.values().forEach(values -> assertEquals(List.of(numbered("", rounds)), values));
        assertFalse(a.isEmpty() || b.isEmpty(), "one consumer owned every key");
    }

    @Test
    void eachKeyHasOneConsumerAndKeepsItsOrder() throws Exception {
        Consumer<String> a = autoSplit("a");
        Consumer<String> b = autoSplit("b");
        sendRounds(unbatched(topic), 5);
        assertDisjointAndWhole(drain(a), drain(b), 5);
    }

    @Test
    void batchesPerKeyKeepTheOrderToo() throws Exception {
        Consumer<String> a = autoSplit("a");
        Consumer<String> b = autoSplit("b");
        sendRounds(client.newProducer(Schema.STRING).topic(topic).batcherBuilder(BatcherBuilder.KEY_BASED).create(), 5);
        assertDisjointAndWhole(drain(a), drain(b), 5);
    }

    @Test
    void theOrderingKeyGoesBeforeTheKey() throws Exception {
        Consumer<String> a = autoSplit("a");
        Consumer<String> b = autoSplit("b");
        Producer<String> producer = unbatched(topic);
        for (int key = 0; key < KEYS; key++) {
            producer.newMessage().key("k" + key).orderingKey("same".getBytes()).value("v").send();
        }
        assertEquals(Set.of(0, KEYS), Set.of(drain(a).size(), drain(b).size()));
    }

    @Test
    void messagesWithoutAKeyAreSpread() throws Exception {
        Consumer<String> a = autoSplit("a");
        Consumer<String> b = autoSplit("b");
        sendBatch(unbatched(topic), numbered("v", 40));
        int atA = drain(a).values().stream().mapToInt(List::size).sum();
        int atB = drain(b).values().stream().mapToInt(List::size).sum();
        assertEquals(40, atA + atB);
        assertTrue(atA > 0 && atB > 0, "one consumer got them all");
    }

    @Test
    void aNewcomerGetsNoKeyThatIsStillHeldElsewhere() throws Exception {
        Consumer<String> a = autoSplit("a");
        Producer<String> producer = unbatched(topic);
        sendRounds(producer, 1);
        List<Message<String>> held = new ArrayList<>();
        for (int i = 0; i < KEYS; i++) {
            held.add(receive(a));
        }
        Consumer<String> b = autoSplit("b");
        producer.newMessage().key("k0").value("1").send();
        sendRounds(producer, 1);
        assertQuiet(b);
        for (Message<String> message : held) {
            a.acknowledge(message);
        }
        assertFalse(drain(b).isEmpty(), "nothing moved to the newcomer");
    }

    @Test
    void theKeysOfALeavingConsumerMoveInOrder() throws Exception {
        Consumer<String> a = autoSplit("a");
        Consumer<String> b = autoSplit("b");
        sendRounds(unbatched(topic), 3);
        Map<String, List<String>> atB = drain(b);
        a.close();
        Map<String, List<String>> moved = drain(b);
        assertDisjointAndWhole(moved, atB, 3);
    }

    /** A message may come twice, to a consumer that left and to the next one, but never after a later one of its key. */
    @Test
    void theOrderOfAKeyHoldsWhileConsumersComeAndGo() throws Exception {
        Map<String, List<Integer>> seen = new ConcurrentHashMap<>();
        MessageListener<String> listener = (consumer, message) -> {
            List<Integer> values = seen.computeIfAbsent(message.getKey(), key -> new ArrayList<>());
            synchronized (values) {
                int value = Integer.parseInt(message.getValue());
                if (!values.contains(value)) {
                    values.add(value);
                }
            }
            consumer.acknowledgeAsync(message);
        };
        Deque<Consumer<String>> consumers = new ArrayDeque<>();
        Producer<String> producer = unbatched(topic);
        for (int round = 0; round < 60; round++) {
            if (round % 10 == 0) {
                client = newClient();
                consumers.add(subscribe(topic, "s", SubscriptionType.Key_Shared).messageListener(listener).subscribe());
            }
            if (round % 15 == 14) {
                consumers.remove().close();
            }
            for (int key = 0; key < KEYS; key++) {
                producer.newMessage().key("k" + key).value(String.valueOf(round)).sendAsync();
            }
            producer.flush();
        }
        Eventually.until("everything has come",
                () -> seen.values().stream().mapToInt(List::size).sum() == 60 * KEYS);
        seen.forEach((key, values) ->
                assertEquals(values.stream().sorted().toList(), values, "the order of " + key));
    }

    @Test
    void outOfOrderDeliveryDoesNotWaitForTheFormerOwner() throws Exception {
        KeySharedPolicy policy = KeySharedPolicy.autoSplitHashRange().setAllowOutOfOrderDelivery(true);
        Consumer<String> a = consumer("a", policy);
        Producer<String> producer = unbatched(topic);
        sendRounds(producer, 1);
        for (int i = 0; i < KEYS; i++) {
            receive(a);
        }
        Consumer<String> b = consumer("b", policy);
        sendRounds(producer, 1);
        assertFalse(drain(b).isEmpty(), "the newcomer waited");
    }

    @Test
    void aStickyConsumerGetsTheHashesOfItsRanges() throws Exception {
        Consumer<String> low = sticky("low", 0, 32767);
        Consumer<String> high = sticky("high", 32768, 65535);
        sendRounds(unbatched(topic), 3);
        assertDisjointAndWhole(drain(low), drain(high), 3);
    }

    @Test
    void aHashThatNobodyOwnsWaitsForItsOwner() throws Exception {
        Consumer<String> low = sticky("low", 0, 32767);
        sendRounds(unbatched(topic), 1);
        Map<String, List<String>> atLow = drain(low);
        assertTrue(atLow.size() < KEYS);
        assertDisjointAndWhole(atLow, drain(sticky("high", 32768, 65535)), 1);
    }

    @Test
    void stickyRangesMayNotOverlap() throws Exception {
        sticky("low", 0, 32767);
        assertThrows(PulsarClientException.ConsumerAssignException.class, () -> sticky("other", 30000, 65535));
    }

    @Test
    void oneSubscriptionHasOneMode() throws Exception {
        sticky("low", 0, 32767);
        assertThrows(PulsarClientException.class, () -> autoSplit("other"));
    }

    @Test
    void outOfOrderDeliveryIsAgreedOnByAllConsumers() throws Exception {
        autoSplit("a");
        assertThrows(PulsarClientException.class, () -> consumer("b",
                KeySharedPolicy.autoSplitHashRange().setAllowOutOfOrderDelivery(true)));
    }

    @Test
    void statsShowTheModeAndTheRanges() throws Exception {
        autoSplit("a");
        autoSplit("b");
        var stats = ADMIN.topics().getStats(topic).getSubscriptions().get("s");
        assertEquals("Key_Shared", stats.getType());
        assertEquals("AUTO_SPLIT", stats.getKeySharedMode());
        assertFalse(stats.getConsumers().get(0).getKeyHashRangeArrays() == null
                && stats.getConsumers().get(0).getKeyHashRanges() == null);
    }

    @Test
    void aNegativelyAcknowledgedKeyStaysWithItsConsumer() throws Exception {
        Consumer<String> a = subscribe(topic, "s", SubscriptionType.Key_Shared)
                .negativeAckRedeliveryDelay(100, TimeUnit.MILLISECONDS).subscribe();
        Consumer<String> b = autoSplit("b");
        sendRounds(unbatched(topic), 1);
        Message<String> message = receive(a);
        a.negativeAcknowledge(message);
        List<String> keys = new ArrayList<>();
        Message<String> next;
        while ((next = a.receive(1, TimeUnit.SECONDS)) != null) {
            keys.add(next.getKey());
        }
        assertTrue(keys.contains(message.getKey()));
        assertFalse(drain(b).containsKey(message.getKey()));
    }
}
