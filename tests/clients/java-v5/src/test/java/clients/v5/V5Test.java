package clients.v5;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.client.admin.PulsarAdminBuilder;
import org.apache.pulsar.client.api.v5.Message;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.client.api.v5.PulsarClientBuilder;
import org.apache.pulsar.client.api.v5.PulsarClientException;
import org.apache.pulsar.client.api.v5.QueueConsumer;
import org.apache.pulsar.client.api.v5.QueueConsumerBuilder;
import org.apache.pulsar.client.api.v5.StreamConsumerBuilder;
import org.apache.pulsar.client.api.v5.auth.AuthenticationFactory;
import org.apache.pulsar.client.api.v5.config.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.v5.config.TlsPolicy;
import org.apache.pulsar.client.api.v5.schema.Schema;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/**
 * What every test starts from: a client of its own and the name of a regular topic nobody else uses, on the broker of
 * PULSAR_SERVICE_URL and PULSAR_ADMIN_URL. Tests run beside each other and leave nothing that another one could see.
 */
abstract class V5Test {
    static final String TOKEN_PLUGIN = "org.apache.pulsar.client.impl.auth.AuthenticationToken";
    static final PulsarAdmin ADMIN = connectAdmin();
    protected static final Duration ARRIVES = Duration.ofSeconds(15);
    private static final Duration QUIET = Duration.ofMillis(400);

    protected PulsarClient client;
    protected String topic;
    private final List<PulsarClient> clients = new ArrayList<>();
    private final List<org.apache.pulsar.client.api.PulsarClient> oldClients = new ArrayList<>();

    /** The next message, or null after that time: what all consumers have in common. */
    interface Receiving<T> {
        Message<T> receive(Duration time) throws PulsarClientException;
    }

    @BeforeEach
    void connect() throws PulsarClientException {
        client = newClient();
        topic = newTopic("public/default");
    }

    /** Not waited for: a client takes seconds to end its threads. */
    @AfterEach
    void disconnect() {
        clients.forEach(PulsarClient::closeAsync);
        oldClients.forEach(org.apache.pulsar.client.api.PulsarClient::closeAsync);
    }

    /** A client with connections of its own, closed after the test. */
    protected PulsarClient newClient() throws PulsarClientException {
        return newClient(builder());
    }

    protected PulsarClient newClient(PulsarClientBuilder builder) throws PulsarClientException {
        PulsarClient created = builder.build();
        clients.add(created);
        return created;
    }

    /** A client of the older API, closed after the test. */
    protected org.apache.pulsar.client.api.PulsarClient oldClient() throws IOException {
        var builder = org.apache.pulsar.client.api.PulsarClient.builder().serviceUrl(required("PULSAR_SERVICE_URL"));
        if (!optional("PULSAR_TOKEN").isEmpty()) {
            builder.authentication(TOKEN_PLUGIN, "token:" + optional("PULSAR_TOKEN"))
                    .tlsTrustCertsFilePath(optional("PULSAR_TRUST_CERTS"));
        }
        var created = builder.build();
        oldClients.add(created);
        return created;
    }

    /** With TLS and a token if the broker under test needs them. */
    protected static PulsarClientBuilder builder() {
        PulsarClientBuilder builder = PulsarClient.builder()
                .serviceUrl(required("PULSAR_SERVICE_URL"))
                .operationTimeout(ARRIVES);
        if (!optional("PULSAR_TOKEN").isEmpty()) {
            builder.authentication(AuthenticationFactory.token(optional("PULSAR_TOKEN")))
                    .tlsPolicy(TlsPolicy.builder().trustCertsFilePath(optional("PULSAR_TRUST_CERTS")).build());
        }
        return builder;
    }

    protected static String newTopic(String namespace) {
        return "persistent://" + namespace + "/" + unique();
    }

    protected static String newNamespace() throws Exception {
        String namespace = "public/" + unique();
        ADMIN.namespaces().createNamespace(namespace, Set.of("standalone"));
        return namespace;
    }

    private static String unique() {
        return "v5-" + UUID.randomUUID().toString().substring(0, 13);
    }

    /** Creates the topic of the test; 0 partitions for a topic that is not partitioned. */
    protected void create(int partitions) throws Exception {
        if (partitions > 0) {
            ADMIN.topics().createPartitionedTopic(topic, partitions);
        } else {
            ADMIN.topics().createNonPartitionedTopic(topic);
        }
    }

    protected Producer<String> producer() throws PulsarClientException {
        return client.newProducer(Schema.string()).topic(topic).create();
    }

    /** A consumer from the beginning of the topic, whose acknowledgments leave at once. */
    protected QueueConsumerBuilder<String> queue(String name) {
        return client.newQueueConsumer(Schema.string()).topic(topic).subscriptionName(name)
                .subscriptionInitialPosition(SubscriptionInitialPosition.EARLIEST)
                .acknowledgmentGroupTime(Duration.ZERO);
    }

    protected StreamConsumerBuilder<String> stream(PulsarClient from, String consumerName) {
        return from.newStreamConsumer(Schema.string()).topic(topic).subscriptionName("s").consumerName(consumerName)
                .subscriptionInitialPosition(SubscriptionInitialPosition.EARLIEST)
                .acknowledgmentGroupTime(Duration.ZERO);
    }

    protected static <T> Message<T> next(Receiving<T> consumer) throws PulsarClientException {
        Message<T> message = consumer.receive(ARRIVES);
        assertNotNull(message, () -> "no message within " + ARRIVES);
        return message;
    }

    protected static <T> List<T> values(Receiving<T> consumer, int count) throws PulsarClientException {
        List<T> values = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            values.add(next(consumer).value());
        }
        return values;
    }

    /** The next `count` values, acknowledged. */
    protected static <T> List<T> consumed(QueueConsumer<T> consumer, int count) throws PulsarClientException {
        List<T> values = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Message<T> message = next(consumer::receive);
            consumer.acknowledge(message.id());
            values.add(message.value());
        }
        return values;
    }

    protected static <T> void assertQuiet(Receiving<T> consumer) throws PulsarClientException {
        Message<T> message = consumer.receive(QUIET);
        assertNull(message, () -> "unexpected: " + message.value());
    }

    /** Of all partitions. */
    protected long backlog(String subscription) throws Exception {
        return ADMIN.topics().getPartitionedTopicMetadata(topic).partitions > 0
                ? ADMIN.topics().getPartitionedStats(topic, false).getSubscriptions().get(subscription).getMsgBacklog()
                : ADMIN.topics().getStats(topic).getSubscriptions().get(subscription).getMsgBacklog();
    }

    private static PulsarAdmin connectAdmin() {
        try {
            PulsarAdminBuilder builder = PulsarAdmin.builder().serviceHttpUrl(required("PULSAR_ADMIN_URL"));
            if (!optional("PULSAR_TOKEN").isEmpty()) {
                builder.authentication(TOKEN_PLUGIN, "token:" + optional("PULSAR_TOKEN"))
                        .tlsTrustCertsFilePath(optional("PULSAR_TRUST_CERTS"));
            }
            return builder.build();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    static String optional(String variable) {
        return System.getenv().getOrDefault(variable, "");
    }

    static String required(String variable) {
        String value = System.getenv(variable);
        if (value == null) {
            throw new IllegalStateException(variable + " is not set; tests/clients/run.py sets it");
        }
        return value;
    }
}
