package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.List;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.junit.jupiter.api.Test;

class EntryMetadataTest extends ClientTest {
    /** The other cluster exposes what the broker knows of each entry (exposingBrokerEntryMetadataToClientEnabled). */
    private static final String GREEN = System.getenv("GREEN_SERVICE_URL");

    @Test
    void everyMessageHasItsIndexInTheTopicAndTheTimeOfTheBroker() throws Exception {
        assumeTrue(GREEN != null, "there is no cluster that exposes the metadata");
        long before = System.currentTimeMillis();
        List<Long> indexes = new ArrayList<>();
        try (PulsarClient green = PulsarClient.builder().serviceUrl(GREEN).build();
                Producer<String> producer = green.newProducer(Schema.STRING).topic(topic).create();
                Consumer<String> consumer = green.newConsumer(Schema.STRING).topic(topic).subscriptionName("s")
                        .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest).subscribe()) {
            sendBatch(producer, "a", "b", "c");
            producer.send("d");
            for (int i = 0; i < 4; i++) {
                Message<String> message = receive(consumer);
                assertTrue(message.hasIndex());
                indexes.add(message.getIndex().orElseThrow());
                assertTrue(message.hasBrokerPublishTime());
                assertTrue(message.getBrokerPublishTime().orElseThrow() >= before);
            }
        }
        assertEquals(List.of(0L, 1L, 2L, 3L), indexes);
    }

    @Test
    void messagesHaveNoIndexUnlessTheBrokerExposesIt() throws Exception {
        Consumer<String> consumer = exclusive(topic);
        unbatched(topic).send("a");
        assertFalse(receive(consumer).hasIndex());
    }
}
