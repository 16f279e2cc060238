package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.ConsumerBuilder;
import org.apache.pulsar.client.api.RegexSubscriptionMode;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class PatternSubscriptionTest extends ClientTest {
    private String namespace;

    @BeforeEach
    void createNamespace() throws Exception {
        namespace = newNamespace();
    }

    /** A consumer that would notice a new topic only by the broker's word: it asks once an hour. */
    private ConsumerBuilder<String> pattern(String pattern) {
        return client.newConsumer(Schema.STRING).topicsPattern(Pattern.compile(namespace + "/" + pattern))
                .subscriptionName("s").subscriptionInitialPosition(SubscriptionInitialPosition.Earliest)
                .patternAutoDiscoveryPeriod(1, TimeUnit.HOURS);
    }

    private String named(String name) {
        return "persistent://" + namespace + "/" + name;
    }

    @Test
    void topicsOfThePatternAreConsumedAndNoOthers() throws Exception {
        unbatched(named("log-a")).send("a");
        unbatched(named("log-b")).send("b");
        unbatched(named("other")).send("other");
        Consumer<String> consumer = pattern("log-.*").subscribe();
        assertEquals(Set.of("a", "b"), new TreeSet<>(values(consumer, 2)));
        assertQuiet(consumer);
    }

    @Test
    void aNewTopicIsNoticedWithoutAsking() throws Exception {
        Consumer<String> consumer = pattern("log-.*").subscribe();
        unbatched(named("log-new")).send("new");
        assertEquals("new", receive(consumer).getValue());
    }

    @Test
    void aNewPartitionedTopicIsNoticed() throws Exception {
        Consumer<String> consumer = pattern("log-.*").subscribe();
        ADMIN.topics().createPartitionedTopic(named("log-p"), 2);
        sendBatch(unbatched(named("log-p")), "a", "b");
        assertEquals(Set.of("a", "b"), new TreeSet<>(values(consumer, 2)));
    }

    @Test
    void aDeletedTopicIsLeft() throws Exception {
        unbatched(named("log-a")).close();
        unbatched(named("log-b")).close();
        Consumer<String> consumer = pattern("log-.*").subscribe();
        ADMIN.topics().delete(named("log-b"), true);
        unbatched(named("log-a")).send("still here");
        assertEquals("still here", receive(consumer).getValue());
    }

    @Test
    void theModeChoosesTheDomain() throws Exception {
        unbatched(named("log-p")).close();
        Consumer<String> consumer = client.newConsumer(Schema.STRING)
                .topicsPattern(Pattern.compile("non-persistent://" + namespace + "/log-.*"))
                .subscriptionTopicsMode(RegexSubscriptionMode.NonPersistentOnly).subscriptionName("s").subscribe();
        assertEquals(Set.of(), Set.copyOf(ADMIN.topics().getSubscriptions(named("log-p"))));
        consumer.close();
    }

    @Test
    void aConsumerThatAsksFindsNewTopicsToo() throws Exception {
        Consumer<String> consumer = pattern("log-.*").patternAutoDiscoveryPeriod(1, TimeUnit.SECONDS).subscribe();
        unbatched(named("log-new")).send("new");
        assertEquals("new", receive(consumer).getValue());
    }
}
