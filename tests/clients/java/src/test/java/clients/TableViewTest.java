package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.TableView;
import org.junit.jupiter.api.Test;

class TableViewTest extends ClientTest {
    private TableView<String> view() throws PulsarClientException {
        return client.newTableView(Schema.STRING).topic(topic).autoUpdatePartitionsInterval(1, TimeUnit.SECONDS)
                .create();
    }

    private static void put(Producer<String> producer, String key, String value) throws PulsarClientException {
        producer.newMessage().key(key).value(value).send();
    }

    @Test
    void itHoldsTheLastValueOfEachKey() throws Exception {
        Producer<String> producer = unbatched(topic);
        put(producer, "a", "1");
        put(producer, "b", "2");
        put(producer, "a", "3");
        try (TableView<String> view = view()) {
            assertEquals(Map.of("a", "3", "b", "2"), Map.copyOf(new ConcurrentHashMap<>(Map.ofEntries(
                    view.entrySet().toArray(Map.Entry[]::new)))));
        }
    }

    @Test
    void itFollowsTheTopic() throws Exception {
        Producer<String> producer = unbatched(topic);
        try (TableView<String> view = view()) {
            put(producer, "a", "1");
            Eventually.until("a is 1", () -> "1".equals(view.get("a")));
            put(producer, "a", "2");
            Eventually.until("a is 2", () -> "2".equals(view.get("a")));
        }
    }

    @Test
    void aNullValueTakesTheKeyAway() throws Exception {
        Producer<String> producer = unbatched(topic);
        put(producer, "a", "1");
        try (TableView<String> view = view()) {
            producer.newMessage().key("a").value(null).send();
            Eventually.until("a is gone", () -> !view.containsKey("a"));
        }
    }

    @Test
    void itReadsACompactedTopic() throws Exception {
        Producer<String> producer = unbatched(topic);
        put(producer, "a", "1");
        put(producer, "a", "2");
        CompactionTest.compact(topic);
        put(producer, "b", "3");
        try (TableView<String> view = view()) {
            assertEquals("2", view.get("a"));
            assertEquals("3", view.get("b"));
        }
    }

    @Test
    void itListensOverPartitions() throws Exception {
        ADMIN.topics().createPartitionedTopic(topic, 3);
        Producer<String> producer = unbatched(topic);
        Map<String, String> seen = new ConcurrentHashMap<>();
        try (TableView<String> view = view()) {
            view.forEachAndListen(seen::put);
            for (int key = 0; key < 9; key++) {
                put(producer, "k" + key, "v");
            }
            Eventually.until("nine keys", () -> seen.size() == 9);
        }
    }
}
