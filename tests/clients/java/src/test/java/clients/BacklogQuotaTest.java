package clients;

import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Collections;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.common.policies.data.BacklogQuota;
import org.apache.pulsar.common.policies.data.BacklogQuota.BacklogQuotaType;
import org.apache.pulsar.common.policies.data.BacklogQuota.RetentionPolicy;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The broker must look at its quotas every few seconds (backlogQuotaCheckIntervalInSeconds). */
class BacklogQuotaTest extends ClientTest {
    private String namespace;

    @BeforeEach
    void createNamespace() throws Exception {
        namespace = newNamespace();
        topic = newTopic(namespace);
    }

    private void limit(RetentionPolicy policy) throws Exception {
        ADMIN.namespaces().setBacklogQuota(namespace,
                BacklogQuota.builder().limitSize(10_000).retentionPolicy(policy).build(),
                BacklogQuotaType.destination_storage);
    }

    /** A subscription with 20 kB of backlog, sent in one burst: the broker may look at any moment. */
    private void exceed() throws Exception {
        exclusive(topic).close();
        Producer<String> producer = unbatched(topic);
        sendBatch(producer, Collections.nCopies(20, "x".repeat(1000)).toArray(String[]::new));
        producer.close();
    }

    private void untilRefused(Class<? extends PulsarClientException> error) {
        Eventually.until("refused with " + error.getSimpleName(), () -> {
            try {
                unbatched(topic).close();
                return false;
            } catch (PulsarClientException e) {
                return error.isInstance(e);
            }
        });
    }

    @Test
    void theExceptionPolicyRefusesProducers() throws Exception {
        limit(RetentionPolicy.producer_exception);
        exceed();
        untilRefused(PulsarClientException.ProducerBlockedQuotaExceededException.class);
    }

    @Test
    void theHoldPolicyRefusesProducersWithAnErrorOfItsOwn() throws Exception {
        limit(RetentionPolicy.producer_request_hold);
        exceed();
        untilRefused(PulsarClientException.ProducerBlockedQuotaExceededError.class);
    }

    @Test
    void drainingTheBacklogLetsProducersIn() throws Exception {
        limit(RetentionPolicy.producer_exception);
        exceed();
        untilRefused(PulsarClientException.ProducerBlockedQuotaExceededException.class);
        values(exclusive(topic), 20);
        Eventually.until("a producer is let in", () -> unbatched(topic).isConnected());
    }

    @Test
    void aHeldProducerGoesOnWhenTheBacklogIsDrained() throws Exception {
        limit(RetentionPolicy.producer_request_hold);
        Producer<String> held = client.newProducer(Schema.STRING).topic(topic).sendTimeout(0, TimeUnit.SECONDS).create();
        exceed();
        untilRefused(PulsarClientException.ProducerBlockedQuotaExceededError.class);
        CompletableFuture<MessageId> sent = held.sendAsync("held");
        values(exclusive(topic), 20);
        sent.get(25, TimeUnit.SECONDS);
    }

    @Test
    void theEvictionPolicyDropsTheOldest() throws Exception {
        limit(RetentionPolicy.consumer_backlog_eviction);
        exceed();
        Eventually.until("the backlog has shrunk",
                () -> ADMIN.topics().getStats(topic).getSubscriptions().get("s").getMsgBacklog() <= 10);
        unbatched(topic).send("goes on");
        Consumer<String> consumer = exclusive(topic);
        Eventually.until("the newest is still there", () -> "goes on".equals(receive(consumer).getValue()));
    }

    @Test
    void anAgeCountsToo() throws Exception {
        ADMIN.namespaces().setBacklogQuota(namespace,
                BacklogQuota.builder().limitTime(1).retentionPolicy(RetentionPolicy.producer_exception).build(),
                BacklogQuotaType.message_age);
        exceed();
        untilRefused(PulsarClientException.ProducerBlockedQuotaExceededException.class);
    }

    @Test
    void aConnectedProducerIsSentAway() throws Exception {
        limit(RetentionPolicy.producer_exception);
        Producer<String> connected = unbatched(topic);
        exceed();
        Eventually.until("its sends fail", () -> {
            assertThrows(PulsarClientException.class, () -> connected.send("x"));
            return true;
        });
    }
}
