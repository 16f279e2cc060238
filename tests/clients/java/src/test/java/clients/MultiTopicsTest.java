package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.TopicMessageId;
import org.junit.jupiter.api.Test;

class MultiTopicsTest extends ClientTest {
    private final String second = newTopic();

    private Consumer<String> consumer() throws PulsarClientException {
        return client.newConsumer(Schema.STRING).topics(List.of(topic, second)).subscriptionName("s")
                .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest).subscribe();
    }

    @Test
    void oneConsumerReadsSeveralTopics() throws Exception {
        Consumer<String> consumer = consumer();
        unbatched(topic).send("a");
        unbatched(second).send("b");
        assertEquals(Set.of("a", "b"), new TreeSet<>(values(consumer, 2)));
    }

    @Test
    void acknowledgementsReachTheRightTopic() throws Exception {
        Consumer<String> consumer = consumer();
        unbatched(topic).send("a");
        unbatched(second).send("b");
        values(consumer, 2);
        consumer.close();
        assertQuiet(consumer());
    }

    @Test
    void theTopicsOfOneSubscriptionHaveTheirOwnState() throws Exception {
        consumer().close();
        unbatched(second).send("b");
        assertEquals(List.of("b"), values(exclusive(second), 1));
        assertQuiet(exclusive(topic));
    }

    @Test
    void theLastIdsAreKnownPerTopic() throws Exception {
        Consumer<String> consumer = consumer();
        var id = unbatched(topic).send("a");
        List<TopicMessageId> last = consumer.getLastMessageIds();
        assertEquals(2, last.size());
        Map<String, TopicMessageId> perTopic = Map.of(last.get(0).getOwnerTopic(), last.get(0),
                last.get(1).getOwnerTopic(), last.get(1));
        assertEquals(0, id.compareTo(perTopic.get(topic)));
    }
}
