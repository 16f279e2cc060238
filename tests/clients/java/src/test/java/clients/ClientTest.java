package clients;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.client.admin.PulsarAdminBuilder;
import org.apache.pulsar.client.api.AuthenticationFactory;
import org.apache.pulsar.client.api.ClientBuilder;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.ConsumerBuilder;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.SubscriptionType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/**
 * What every test starts from: a client of its own and the name of a topic nobody else uses, on the broker of
 * PULSAR_SERVICE_URL and PULSAR_ADMIN_URL. Tests run beside each other and leave nothing that another one could see.
 */
abstract class ClientTest {
    static final PulsarAdmin ADMIN = connectAdmin();
    private static final int ARRIVES_SECONDS = 15;
    private static final int QUIET_MILLIS = 400;

    protected PulsarClient client;
    protected String topic;
    private final List<PulsarClient> clients = new ArrayList<>();

    @BeforeEach
    void connect() throws PulsarClientException {
        client = newClient();
        topic = newTopic();
    }

    /** Not waited for: a client takes seconds to end its threads. */
    @AfterEach
    void disconnect() {
        clients.forEach(PulsarClient::closeAsync);
    }

    /** A client with a connection of its own, closed after the test. */
    protected PulsarClient newClient() throws PulsarClientException {
        PulsarClient created = builder().build();
        clients.add(created);
        return created;
    }

    /** With TLS and a token if the broker under test needs them. */
    protected ClientBuilder builder() {
        ClientBuilder builder = PulsarClient.builder()
                .serviceUrl(required("PULSAR_SERVICE_URL"))
                .ioThreads(1)
                .listenerThreads(1)
                .operationTimeout(15, TimeUnit.SECONDS)
                .maxBackoffInterval(2, TimeUnit.SECONDS);  // by default a client that is held waits for up to a minute
        if (!optional("PULSAR_TOKEN").isEmpty()) {
            builder.authentication(AuthenticationFactory.token(optional("PULSAR_TOKEN")))
                    .tlsTrustCertsFilePath(optional("PULSAR_TRUST_CERTS"));
        }
        return builder;
    }

    protected static String newTopic() {
        return newTopic("public/default");
    }

    protected static String newTopic(String namespace) {
        return "persistent://" + namespace + "/" + unique();
    }

    protected static String newNamespace() throws Exception {
        String namespace = "public/" + unique();
        ADMIN.namespaces().createNamespace(namespace, Set.of("standalone"));
        return namespace;
    }

    /** Short, because a broker limits the length of a pattern over topic names. */
    private static String unique() {
        return "java-" + UUID.randomUUID().toString().substring(0, 13);
    }

    /** A producer that sends each message at once. */
    protected Producer<String> unbatched(String topicName) throws PulsarClientException {
        return client.newProducer(Schema.STRING).topic(topicName).enableBatching(false).create();
    }

    /** A producer whose batches end only with flush(). */
    protected Producer<String> batched(String topicName) throws PulsarClientException {
        return client.newProducer(Schema.STRING).topic(topicName)
                .batchingMaxPublishDelay(1, TimeUnit.HOURS)
                .batchingMaxMessages(1000)
                .create();
    }

    protected static void sendBatch(Producer<String> producer, String... values) throws PulsarClientException {
        for (String value : values) {
            producer.sendAsync(value);
        }
        producer.flush();
    }

    /** A consumer from the beginning of the topic, whose acknowledgements leave at once. */
    protected ConsumerBuilder<String> subscribe(String topicName, String name, SubscriptionType type) {
        return client.newConsumer(Schema.STRING).topic(topicName).subscriptionName(name).subscriptionType(type)
                .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest)
                .acknowledgmentGroupTime(0, TimeUnit.MILLISECONDS);
    }

    protected Consumer<String> exclusive(String topicName) throws PulsarClientException {
        return subscribe(topicName, "s", SubscriptionType.Exclusive).subscribe();
    }

    protected static <T> Message<T> receive(Consumer<T> consumer) throws PulsarClientException {
        Message<T> message = consumer.receive(ARRIVES_SECONDS, TimeUnit.SECONDS);
        assertNotNull(message, "no message within " + ARRIVES_SECONDS + " s");
        return message;
    }

    /** The next `count` values, acknowledged. */
    protected static <T> List<T> values(Consumer<T> consumer, int count) throws PulsarClientException {
        List<T> values = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Message<T> message = receive(consumer);
            consumer.acknowledge(message);
            values.add(message.getValue());
        }
        return values;
    }

    protected static void assertQuiet(Consumer<?> consumer) throws PulsarClientException {
        Message<?> message = consumer.receive(QUIET_MILLIS, TimeUnit.MILLISECONDS);
        assertNull(message, () -> "unexpected: " + message.getValue());
    }

    protected static String[] numbered(String prefix, int count) {
        String[] values = new String[count];
        for (int i = 0; i < count; i++) {
            values[i] = prefix + i;
        }
        return values;
    }

    private static PulsarAdmin connectAdmin() {
        try {
            PulsarAdminBuilder builder = PulsarAdmin.builder().serviceHttpUrl(required("PULSAR_ADMIN_URL"));
            if (!optional("PULSAR_TOKEN").isEmpty()) {
                builder.authentication(AuthenticationFactory.token(optional("PULSAR_TOKEN")))
                        .tlsTrustCertsFilePath(optional("PULSAR_TRUST_CERTS"));
            }
            return builder.build();
        } catch (PulsarClientException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String optional(String variable) {
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
