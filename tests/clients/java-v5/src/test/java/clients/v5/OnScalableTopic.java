package clients.v5;

import clients.Eventually;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.pulsar.client.admin.PulsarAdminException;
import org.apache.pulsar.client.api.v5.Message;
import org.apache.pulsar.client.api.v5.MessageId;
import org.apache.pulsar.common.policies.data.RetentionPolicies;
import org.junit.jupiter.api.BeforeEach;

/** As V5Test, with a scalable topic: what `create` makes has segments, which a test splits and merges. */
abstract class OnScalableTopic extends V5Test {
    private static final Pattern SEGMENT = Pattern.compile("segment=(\\d+)");

    @BeforeEach
    void useScalableTopic() {
        topic = scalable(topic);
    }

    /** A namespace that keeps what no subscription holds. Elsewhere, such segments go a minute after they are sealed. */
    static String keepingNamespace() throws Exception {
        String namespace = newNamespace();
        ADMIN.namespaces().setRetention(namespace, new RetentionPolicies(-1, -1));
        return namespace;
    }

    static String scalable(String topic) {
        return topic.replaceFirst("^persistent://", "topic://");
    }

    @Override
    protected void create(int segments) throws PulsarAdminException {
        ADMIN.scalableTopics().createScalableTopic(topic, segments);
    }

    protected void split(long segment) throws PulsarAdminException {
        ADMIN.scalableTopics().splitSegment(topic, segment);
    }

    protected void merge(long first, long second) throws PulsarAdminException {
        ADMIN.scalableTopics().mergeSegments(topic, first, second);
    }

    protected long activeSegments() throws PulsarAdminException {
        return ADMIN.scalableTopics().getStats(topic).getActiveSegments();
    }

    /** Of all segments. */
    @Override
    protected long backlog(String subscription) throws Exception {
        long backlog = 0;
        for (var segment : ADMIN.scalableTopics().getStats(topic).getSegments().values()) {
            backlog += ADMIN.scalableTopics().getSegmentSubscriptionBacklogAsync(segment.name(), subscription).get();
        }
        return backlog;
    }

    static String segmentOf(Message<?> message) {
        var found = SEGMENT.matcher(message.id().toString());
        return found.find() ? found.group(1) : "";
    }

    /** The values of the first `count` messages of KeyedMessages. */
    static Set<String> numbers(int count) {
        return IntStream.range(0, count).mapToObj(String::valueOf).collect(Collectors.toSet());
    }

    /** Some may come twice: under load, this client closes its connection when a segment is sealed. */
    static void assertReceives(Set<String> expected, Receiving<String> consumer, Consumer<MessageId> acknowledge) {
        Set<String> seen = new HashSet<>();
        Eventually.until("all messages have come", () -> {
            Message<String> message = next(consumer);
            acknowledge.accept(message.id());
            seen.add(message.value());
            return seen.equals(expected);
        });
    }
}
