package clients.v5;

import static org.junit.jupiter.api.Assertions.assertTrue;

import clients.Eventually;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.pulsar.client.api.v5.Message;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.StreamConsumer;

/** Numbered messages of 16 keys, and what stream consumers have received of them: in the order of each key. */
final class KeyedMessages {
    private static final Duration STEP = Duration.ofMillis(50);

    private final Map<String, Integer> last = new TreeMap<>();
    private final Set<Integer> seen = new LinkedHashSet<>();
    private final Map<StreamConsumer<String>, Set<String>> segments = new HashMap<>();
    private int sent;

    void send(Producer<String> producer, int count) throws Exception {
        for (int i = 0; i < count; i++, sent++) {
            producer.newMessage().key("k" + sent % 16).value("" + sent).send();
        }
    }

    /** As if these messages had been sent. */
    void expect(int count) {
        sent += count;
    }

    /** Receives and acknowledges until all that was sent has come; checks that each of these consumers got some. */
    @SafeVarargs
    final void receiveAll(StreamConsumer<String>... consumers) {
        Set<StreamConsumer<String>> active = new LinkedHashSet<>();
        Eventually.until("all messages have come", () -> {
            for (StreamConsumer<String> consumer : consumers) {
                Message<String> message = consumer.receive(STEP);
                if (message != null) {
                    add(message);
                    consumer.acknowledgeCumulative(message.id());
                    active.add(consumer);
                    segments.computeIfAbsent(consumer, key -> new TreeSet<>()).add(OnScalableTopic.segmentOf(message));
                }
            }
            return seen.size() == sent && active.containsAll(List.of(consumers));
        });
    }

    /** Where the messages of a consumer came from. */
    Set<String> segmentsOf(StreamConsumer<String> consumer) {
        return Set.copyOf(segments.get(consumer));
    }

    /** Messages may come again if they were not acknowledged, but none may be missing before one of the same key. */
    void add(Message<String> message) {
        int number = Integer.parseInt(message.value());
        int before = last.getOrDefault(message.key().orElseThrow(), number % 16 - 16);
        assertTrue(number <= before + 16, () -> "of key " + number % 16 + ", " + number + " came after " + before);
        last.merge(message.key().orElseThrow(), number, Math::max);
        seen.add(number);
    }
}
