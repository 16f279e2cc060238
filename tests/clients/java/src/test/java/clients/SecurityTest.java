package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.client.admin.PulsarAdminException;
import org.apache.pulsar.client.api.Authentication;
import org.apache.pulsar.client.api.AuthenticationFactory;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Reader;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.impl.auth.AuthenticationBasic;
import org.apache.pulsar.client.impl.auth.oauth2.AuthenticationFactoryOAuth2;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** TLS and every method of authentication, on the broker of SECURED_SERVICE_URL and SECURED_ADMIN_URL. */
class SecurityTest extends ClientTest {
    private static final Path CREDENTIALS = Path.of(required("SECURED_CREDENTIALS"));
    private static final Duration AT_ONCE = Duration.ofSeconds(15);  // the operation timeout is 30 s
    private static final int SECONDS = 15;

    @ParameterizedTest
    @ValueSource(strings = {"token", "certificate", "basic", "oauth2"})
    void eachMethodPublishesConsumesAndReads(String method) throws Exception {
        try (PulsarClient secured = secured(good(method))) {
            Consumer<String> consumer = secured.newConsumer(Schema.STRING).topic(topic).subscriptionName("s").subscribe();
            Reader<String> reader = secured.newReader(Schema.STRING).topic(topic)
                    .startMessageId(MessageId.latest).create();
            secured.newProducer(Schema.STRING).topic(topic).create().send("hello");
            assertEquals("hello", receive(consumer).getValue());
            Message<String> read = reader.readNext(SECONDS, TimeUnit.SECONDS);
            assertNotNull(read);
            assertEquals("hello", read.getValue());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"token", "certificate", "basic", "oauth2"})
    void eachMethodAdministers(String method) throws Exception {
        try (PulsarAdmin admin = admin(good(method))) {
            admin.topics().createPartitionedTopic(topic, 2);
            assertEquals(2, admin.topics().getPartitionedTopicMetadata(topic).partitions);
            admin.topics().deletePartitionedTopic(topic);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"token", "certificate", "basic", "nothing"})
    void wrongCredentialsAreAnAuthenticationErrorAtOnce(String method) throws Exception {
        Instant started = Instant.now();
        try (PulsarClient secured = secured(wrong(method))) {
            assertThrows(PulsarClientException.AuthenticationException.class,
                    () -> secured.newProducer(Schema.STRING).topic(topic).create());
        }
        assertTrue(Duration.between(started, Instant.now()).compareTo(AT_ONCE) < 0);
    }

    @ParameterizedTest
    @ValueSource(strings = {"token", "certificate", "basic", "nothing"})
    void wrongCredentialsDoNotAdminister(String method) throws Exception {
        try (PulsarAdmin admin = admin(wrong(method))) {
            assertThrows(PulsarAdminException.NotAuthorizedException.class, () -> admin.tenants().getTenants());
        }
    }

    /** The issuer refuses before the broker is asked. This client retries until its timeout. */
    @Test
    void aWrongClientSecretConnectsNowhere() throws Exception {
        try (PulsarClient secured = secured(oauth2("wrong-oauth.json"), 3)) {
            assertThrows(PulsarClientException.class, () -> secured.newProducer().topic(topic).create());
        }
    }

    @Test
    void aCertificateOfAnotherAuthorityConnectsNowhere() throws Exception {
        try (PulsarClient secured = secured(certificate("forged"), 3)) {
            assertThrows(PulsarClientException.class, () -> secured.newProducer().topic(topic).create());
        }
    }

    @Test
    void aClientTrustsNoOtherAuthority() throws Exception {
        try (PulsarClient secured = PulsarClient.builder().serviceUrl(required("SECURED_SERVICE_URL"))
                .tlsTrustCertsFilePath(file("other.pem")).authentication(good("token"))
                .operationTimeout(3, TimeUnit.SECONDS).build()) {
            assertThrows(PulsarClientException.class, () -> secured.newProducer().topic(topic).create());
        }
    }

    @Test
    void aTokenThatExpiresIsRenewed() throws Exception {
        AtomicInteger supplied = new AtomicInteger();
        Authentication expiring = AuthenticationFactory.token(
                () -> token("admin", supplied.incrementAndGet() <= 3 ? 2 : 600));
        try (PulsarClient secured = secured(expiring)) {
            Consumer<String> consumer = secured.newConsumer(Schema.STRING).topic(topic).subscriptionName("s").subscribe();
            Producer<String> producer = secured.newProducer(Schema.STRING).topic(topic).create();
            int before = supplied.get();
            Eventually.until("a fresh token is asked for", () -> supplied.get() > Math.max(before, 3));
            producer.send("renewed");
            assertEquals("renewed", receive(consumer).getValue());
        }
    }

    private static PulsarClient secured(Authentication authentication) throws PulsarClientException {
        return secured(authentication, 30);
    }

    private static PulsarClient secured(Authentication authentication, int timeoutSeconds) throws PulsarClientException {
        return PulsarClient.builder()
                .serviceUrl(required("SECURED_SERVICE_URL"))
                .tlsTrustCertsFilePath(file("ca.pem"))
                .enableTlsHostnameVerification(true)
                .authentication(authentication)
                .ioThreads(1).listenerThreads(1)
                .operationTimeout(timeoutSeconds, TimeUnit.SECONDS)
                .build();
    }

    private static PulsarAdmin admin(Authentication authentication) throws PulsarClientException {
        return PulsarAdmin.builder()
                .serviceHttpUrl(required("SECURED_ADMIN_URL"))
                .tlsTrustCertsFilePath(file("ca.pem"))
                .enableTlsHostnameVerification(true)
                .authentication(authentication)
                .build();
    }

    private static Authentication good(String method) throws Exception {
        return switch (method) {
            case "token" -> AuthenticationFactory.token(Files.readString(CREDENTIALS.resolve("token")));
            case "certificate" -> certificate("client");
            case "basic" -> basic("open sesame");
            default -> oauth2("oauth.json");
        };
    }

    private static Authentication wrong(String method) throws Exception {
        return switch (method) {
            case "token" -> AuthenticationFactory.token(token("admin", 600) + "AAAA");
            case "certificate" -> certificate("two");
            case "basic" -> basic("guessed");
            default -> null;
        };
    }

    private static Authentication certificate(String name) {
        return AuthenticationFactory.TLS(file(name + ".pem"), file(name + ".key"));
    }

    private static Authentication basic(String password) {
        AuthenticationBasic basic = new AuthenticationBasic();
        basic.configure("{\"userId\":\"admin\",\"password\":\"" + password + "\"}");
        return basic;
    }

    private static Authentication oauth2(String name) throws Exception {
        return AuthenticationFactoryOAuth2.clientCredentials(
                URI.create(required("SECURED_ISSUER_URL")).toURL(), URI.create("file://" + file(name)).toURL(), "pulsar");
    }

    private static String token(String role, int seconds) {
        return Tokens.signed(CREDENTIALS, role, seconds);
    }

    private static String file(String name) {
        return CREDENTIALS.resolve(name).toString();
    }
}
