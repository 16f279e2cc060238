package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.SubscriptionType;
import org.junit.jupiter.api.Test;

class MigrationTest extends ClientTest {
    /** These tests need a broker of ours to leave, without TLS. */
    private static final String GREEN = System.getenv("GREEN_SERVICE_URL");

    @Test
    void clientsFollowTheirTopicToAnotherCluster() throws Exception {
        assumeTrue(GREEN != null, "there is no other cluster to move to");
        topic = newTopic(newNamespace());
        subscribe(topic, "kept", SubscriptionType.Exclusive).subscribe().close();
        Consumer<String> consumer = exclusive(topic);
        Producer<String> producer = unbatched(topic);
        List<String> sent = new ArrayList<>();
        CompletableFuture<Void> move = CompletableFuture.runAsync(this::migrate);
        do {
            sendAndReceive(producer, consumer, "v" + sent.size(), sent);
        } while (!move.isDone());
        move.join();
        sendAndReceive(producer, consumer, "last", sent);
        assertEquals(sent, valuesOfKeptInGreen());
    }

    /** The client skips messages whose IDs are not above its last cumulative acknowledgment. GREEN is fresh. */
    @Test
    void aConsumerThatAcknowledgesCumulativelySkipsNothingAfterAMove() throws Exception {
        assumeTrue(GREEN != null, "there is no other cluster to move to");
        topic = newTopic(newNamespace());
        Consumer<String> consumer = exclusive(topic);
        Producer<String> producer = unbatched(topic);
        for (int number = 0; number < 5; number++) {
            producer.send("before" + number);
        }
        receive(consumer);
        receive(consumer);
        consumer.acknowledgeCumulative(receive(consumer));
        migrate();
        try (PulsarClient green = PulsarClient.builder().serviceUrl(GREEN).build();
             Producer<String> there = green.newProducer(Schema.STRING).topic(topic).create()) {
            there.send("after");
            assertEquals(List.of("before3", "before4", "after"), valuesUpTo(consumer, "after"));
        }
    }

    private static void sendAndReceive(Producer<String> producer, Consumer<String> consumer, String value,
                                       List<String> sent) throws PulsarClientException {
        producer.send(value);
        sent.add(value);
        valuesUpTo(consumer, value);
    }

    /** Moves the topic to the other cluster with `pulsarctl migrate --switch`. */
    private void migrate() {
        try {
            Process process = new ProcessBuilder(required("MIGRATE"), topic).redirectErrorStream(true).start();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertEquals(0, process.waitFor(), output);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private List<String> valuesOfKeptInGreen() throws PulsarClientException {
        try (PulsarClient green = PulsarClient.builder().serviceUrl(GREEN).build();
             Consumer<String> kept = green.newConsumer(Schema.STRING).topic(topic).subscriptionName("kept")
                     .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest).subscribe()) {
            return valuesUpTo(kept, "last");
        }
    }

    /** What comes again, as the switch allows, is counted once. */
    private static List<String> valuesUpTo(Consumer<String> consumer, String last) throws PulsarClientException {
        Set<String> values = new LinkedHashSet<>();
        while (!values.contains(last)) {
            Message<String> message = receive(consumer);
            acknowledge(consumer, message);
            values.add(message.getValue());
        }
        return List.copyOf(values);
    }

    /** The client refuses to acknowledge while it connects to the other cluster. Then the message comes again. */
    private static void acknowledge(Consumer<String> consumer, Message<String> message) throws PulsarClientException {
        try {
            consumer.acknowledge(message);
        } catch (PulsarClientException.ConnectException refused) {
            assertTrue(refused.getMessage().contains("consumer state:Connecting"), refused.getMessage());
        }
    }
}
