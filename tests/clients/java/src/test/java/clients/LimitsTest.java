package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.Callable;
import org.apache.pulsar.client.admin.PulsarAdminException;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.SubscriptionType;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class LimitsTest extends ClientTest {
    private String namespace;

    @BeforeEach
    void createNamespace() throws Exception {
        namespace = newNamespace();
        topic = newTopic(namespace);
    }

    /** A topic's policies take effect a moment after they are set. */
    private void awaitPolicy(Callable<Object> policy, Object value) {
        Eventually.until("the policy is read back", () -> value.equals(policy.call()));
    }

    @Test
    void oneProducerTooManyIsBusy() throws Exception {
        ADMIN.namespaces().setMaxProducersPerTopic(namespace, 2);
        Producer<String> first = unbatched(topic);
        unbatched(topic);
        assertThrows(PulsarClientException.ProducerBusyException.class, () -> unbatched(topic));
        first.close();
        assertTrue(unbatched(topic).isConnected());
    }

    @Test
    void aTopicMayAllowFewerProducersThanItsNamespace() throws Exception {
        unbatched(topic);
        ADMIN.topicPolicies().setMaxProducers(topic, 1);
        awaitPolicy(() -> ADMIN.topicPolicies().getMaxProducers(topic), 1);
        assertThrows(PulsarClientException.ProducerBusyException.class, () -> unbatched(topic));
    }

    @Test
    void oneConsumerTooManyIsBusy() throws Exception {
        ADMIN.namespaces().setMaxConsumersPerTopic(namespace, 1);
        var first = subscribe(topic, "one", SubscriptionType.Shared).subscribe();
        assertThrows(PulsarClientException.ConsumerBusyException.class,
                () -> subscribe(topic, "two", SubscriptionType.Shared).subscribe());
        first.close();
        assertTrue(subscribe(topic, "two", SubscriptionType.Shared).subscribe().isConnected());
    }

    @Test
    void oneConsumerTooManyOfASubscriptionIsBusy() throws Exception {
        ADMIN.namespaces().setMaxConsumersPerSubscription(namespace, 1);
        subscribe(topic, "s", SubscriptionType.Shared).subscribe();
        assertThrows(PulsarClientException.ConsumerBusyException.class,
                () -> subscribe(topic, "s", SubscriptionType.Shared).subscribe());
        assertTrue(subscribe(topic, "other", SubscriptionType.Shared).subscribe().isConnected());
    }

    @Test
    void oneSubscriptionTooManyIsNotAllowed() throws Exception {
        ADMIN.namespaces().setMaxSubscriptionsPerTopic(namespace, 1);
        subscribe(topic, "one", SubscriptionType.Shared).subscribe();
        assertThrows(PulsarClientException.NotAllowedException.class,
                () -> subscribe(topic, "two", SubscriptionType.Shared).subscribe());
    }

    @Test
    void oneTopicTooManyIsNotMade() throws Exception {
        ADMIN.namespaces().setMaxTopicsPerNamespace(namespace, 1);
        unbatched(topic);
        assertThrows(PulsarClientException.class, () -> unbatched(newTopic(namespace)));
        assertThrows(PulsarAdminException.ConflictException.class,
                () -> ADMIN.topics().createNonPartitionedTopic(newTopic(namespace)));
    }

    @Test
    void aTopicMayRefuseLargeMessages() throws Exception {
        Producer<String> producer = unbatched(topic);
        ADMIN.topicPolicies().setMaxMessageSize(topic, 1000);
        Eventually.until("a large message is refused", () -> {
            assertThrows(PulsarClientException.NotAllowedException.class, () -> producer.send("x".repeat(2000)));
            return true;
        });
        producer.send("small");
    }

    @Test
    void aSubscriptionTypeMayBeForbidden() throws Exception {
        ADMIN.namespaces().setSubscriptionTypesEnabled(namespace, java.util.Set.of(SubscriptionType.Exclusive));
        assertThrows(PulsarClientException.NotAllowedException.class,
                () -> subscribe(topic, "s", SubscriptionType.Shared).subscribe());
        unbatched(topic).send("v");
        assertEquals(List.of("v"), values(exclusive(topic), 1));
    }
}
