package clients.v5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import clients.Eventually;
import clients.Tokens;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.client.admin.PulsarAdminException.NotAuthorizedException;
import org.apache.pulsar.client.api.v5.Checkpoint;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.client.api.v5.PulsarClientException;
import org.apache.pulsar.client.api.v5.auth.AuthenticationFactory;
import org.apache.pulsar.client.api.v5.config.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.v5.config.TlsPolicy;
import org.apache.pulsar.client.api.v5.schema.Schema;
import org.apache.pulsar.common.policies.data.AuthAction;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** TLS, tokens, and permissions, on the broker of SECURED_SERVICE_URL and SECURED_ADMIN_URL. */
class SecurityTest extends V5Test {
    private static final Path CREDENTIALS = Path.of(required("SECURED_CREDENTIALS"));
    private static final String TRUSTED = CREDENTIALS.resolve("ca.pem").toString();
    private static final String ROLE = "guest";

    private PulsarAdmin admin;
    private String namespace;

    @BeforeEach
    void createNamespace() throws Exception {
        admin = PulsarAdmin.builder().serviceHttpUrl(required("SECURED_ADMIN_URL")).tlsTrustCertsFilePath(TRUSTED)
                .authentication(TOKEN_PLUGIN, "token:" + good()).build();
        topic = newTopic("public/default");
        namespace = topic.replaceFirst("persistent://public/default/", "public/");
        admin.namespaces().createNamespace(namespace, Set.of("standalone"));
        topic = newTopic(namespace);
        admin.topics().createPartitionedTopic(topic, 2);
        client.close();
    }

    private static String good() throws Exception {
        return Files.readString(CREDENTIALS.resolve("token"));
    }

    /** Replaces the client of the test by one with this token. */
    private void use(String token) throws PulsarClientException {
        client = newClient(PulsarClient.builder().serviceUrl(required("SECURED_SERVICE_URL"))
                .authentication(AuthenticationFactory.token(token))
                .tlsPolicy(TlsPolicy.builder().trustCertsFilePath(TRUSTED).enableHostnameVerification(true).build())
                .operationTimeout(Duration.ofSeconds(5)));
    }

    private void useRole(AuthAction... granted) throws Exception {
        admin.namespaces().grantPermissionOnNamespace(namespace, ROLE, Set.of(granted));
        use(Tokens.signed(CREDENTIALS, ROLE, 600));
    }

    /** Makes the topic of the test a scalable one if that is its domain. */
    private void useDomain(String domain) throws Exception {
        if (domain.equals("topic")) {
            topic = OnScalableTopic.scalable(topic);
            admin.scalableTopics().createScalableTopic(topic, 1);
            admin.scalableTopics().splitSegment(topic, 0);
        }
    }

    private void send() throws PulsarClientException {
        client.newProducer(Schema.string()).topic(topic).sendTimeout(Duration.ofSeconds(5)).create()
                .newMessage().key("k").value("v").send();
    }

    private void consume() throws PulsarClientException {
        client.newQueueConsumer(Schema.string()).topic(topic).subscriptionName("q")
                .subscriptionInitialPosition(SubscriptionInitialPosition.EARLIEST).subscribe().close();
        stream(client, "a").subscribe().close();
        client.newCheckpointConsumer(Schema.string()).topic(topic).startPosition(Checkpoint.earliest()).create().close();
    }

    @ParameterizedTest
    @ValueSource(strings = {"persistent", "topic"})
    void aTokenPublishesConsumesAndReads(String domain) throws Exception {
        useDomain(domain);
        use(good());
        send();
        assertEquals("v", next(queue("q").subscribe()::receive).value());
        assertEquals("v", next(stream(client, "a").subscribe()::receive).value());
        assertEquals("v", next(client.newCheckpointConsumer(Schema.string()).topic(topic)
                .startPosition(Checkpoint.earliest()).create()::receive).value());
    }

    @Test
    void aWrongTokenConnectsNowhere() throws Exception {
        use(good() + "AAAA");
        assertThrows(PulsarClientException.class, this::send);
        assertThrows(PulsarClientException.class, this::consume);
    }

    @ParameterizedTest
    @ValueSource(strings = {"persistent", "topic"})
    void aRoleWithoutPermissionsGetsNothing(String domain) throws Exception {
        useDomain(domain);
        useRole();
        assertThrows(PulsarClientException.class, this::send);
        assertThrows(PulsarClientException.class, () -> queue("q").subscribe());
        assertThrows(PulsarClientException.class, () -> stream(client, "a").subscribe());
    }

    @ParameterizedTest
    @ValueSource(strings = {"persistent", "topic"})
    void aRoleThatMayProduceDoesNotConsume(String domain) throws Exception {
        useDomain(domain);
        useRole(AuthAction.produce);
        send();
        assertThrows(PulsarClientException.class, () -> queue("q").subscribe());
        assertThrows(PulsarClientException.class, () -> stream(client, "a").subscribe());
    }

    @ParameterizedTest
    @ValueSource(strings = {"persistent", "topic"})
    void aRoleThatMayConsumeDoesNotProduce(String domain) throws Exception {
        useDomain(domain);
        useRole(AuthAction.consume);
        consume();
        assertThrows(PulsarClientException.class, this::send);
    }

    @Test
    void aRoleThatLosesThePermissionReceivesNothingMore() throws Exception {
        useRole(AuthAction.consume, AuthAction.produce);
        var stream = stream(client, "a").subscribe();
        var queue = queue("q").subscribe();
        send();
        next(stream::receive);
        next(queue::receive);
        admin.namespaces().revokePermissionsOnNamespace(namespace, ROLE);
        Eventually.until("no consumer is left", () -> consumers() == 0);
        use(good());
        send();
        assertQuiet(stream::receive);
        assertQuiet(queue::receive);
    }

    @Test
    void aStreamConsumerThatLosesThePermissionLosesItsSegments() throws Exception {
        useDomain("topic");
        useRole(AuthAction.consume, AuthAction.produce);
        var stream = stream(client, "a").subscribe();
        send();
        next(stream::receive);
        admin.namespaces().revokePermissionsOnNamespace(namespace, ROLE);
        Eventually.until("no consumer is left", () -> admin.scalableTopics().getStats(topic).getSubscriptions()
                .get("s").consumerCount() == 0);
        use(good());
        send();
        assertQuiet(stream::receive);
    }

    @Test
    void onlyASuperUserSplitsAndOnlyAnAdministratorDeletes() throws Exception {
        useDomain("topic");
        admin.namespaces().grantPermissionOnNamespace(namespace, ROLE, Set.of(AuthAction.consume, AuthAction.produce));
        try (PulsarAdmin guest = PulsarAdmin.builder().serviceHttpUrl(required("SECURED_ADMIN_URL"))
                .tlsTrustCertsFilePath(TRUSTED)
                .authentication(TOKEN_PLUGIN, "token:" + Tokens.signed(CREDENTIALS, ROLE, 600)).build()) {
            assertThrows(NotAuthorizedException.class, () -> guest.scalableTopics().splitSegment(topic, 1));
            assertThrows(NotAuthorizedException.class, () -> guest.scalableTopics().mergeSegments(topic, 1, 2));
            assertThrows(NotAuthorizedException.class, () -> guest.scalableTopics().deleteScalableTopic(topic, true));
        }
    }

    private int consumers() throws Exception {
        return admin.topics().getPartitionedStats(topic, false).getSubscriptions().values().stream()
                .mapToInt(one -> one.getConsumers().size()).sum();
    }
}
