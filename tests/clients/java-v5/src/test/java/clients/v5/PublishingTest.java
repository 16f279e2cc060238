package clients.v5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import org.apache.pulsar.client.api.v5.Message;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.PulsarClientException;
import org.apache.pulsar.client.api.v5.QueueConsumer;
import org.apache.pulsar.client.api.v5.config.BatchingPolicy;
import org.apache.pulsar.client.api.v5.schema.Schema;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PublishingTest extends V5Test {
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 4})
    void messagesWithAndWithoutKeysArrive(int partitions) throws Exception {
        create(partitions);
        QueueConsumer<String> consumer = queue("q").subscribe();
        Producer<String> producer = producer();
        List<String> sent = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            sent.add("v" + i);
            var message = producer.newMessage().value("v" + i);
            (i % 2 == 0 ? message.key("k" + i) : message).send();
        }
        assertEquals(new TreeSet<>(sent), new TreeSet<>(consumed(consumer, 40)));
        assertQuiet(consumer::receive);
    }

    @Test
    void messagesWithoutKeysUseAllPartitions() throws Exception {
        create(3);
        Producer<String> producer = producer();
        for (int i = 0; i < 6; i++) {
            producer.newMessage().value("v").send();
        }
        for (int i = 0; i < 3; i++) {
            assertEquals(2, ADMIN.topics().getStats(topic + "-partition-" + i).getMsgInCounter());
        }
    }

    @Test
    void messagesCarryKeyPropertiesAndTimes() throws Exception {
        create(2);
        QueueConsumer<String> consumer = queue("q").subscribe();
        Instant happened = Instant.ofEpochMilli(1_234_567);
        producer().newMessage().value("v").key("k").property("a", "1").eventTime(happened).send();
        Message<String> message = next(consumer::receive);
        assertEquals(Optional.of("k"), message.key());
        assertEquals(Map.of("a", "1"), message.properties());
        assertEquals(Optional.of(happened), message.eventTime());
        assertTrue(message.publishTime().isBefore(Instant.now().plusSeconds(60)));
    }

    @Test
    void aNamedProducerKeepsItsName() throws Exception {
        create(2);
        QueueConsumer<String> consumer = queue("q").subscribe();
        Producer<String> producer = client.newProducer(Schema.string()).topic(topic).producerName("mine").create();
        producer.newMessage().value("v").send();
        assertEquals("mine", producer.producerName());
        assertTrue(next(consumer::receive).producerName().orElse("").startsWith("mine"));
    }

    @Test
    void aProducerNameIsUsedOnce() throws Exception {
        create(0);
        client.newProducer(Schema.string()).topic(topic).producerName("mine").create().newMessage().value("v").send();
        Producer<String> second = newClient().newProducer(Schema.string()).topic(topic).producerName("mine")
                .sendTimeout(Duration.ofSeconds(3)).create();
        assertThrows(PulsarClientException.class, () -> second.newMessage().value("v").send());
    }

    @Test
    void manyMessagesGoInBatches() throws Exception {
        create(2);
        QueueConsumer<String> consumer = queue("q").subscribe();
        Producer<String> producer = producer();
        for (int i = 0; i < 500; i++) {
            producer.async().newMessage().value("v" + i).key("k" + i % 10).send();
        }
        producer.async().flush().join();
        assertEquals(500, new TreeSet<>(consumed(consumer, 500)).size());
    }

    @Test
    void batchingMayBeOff() throws Exception {
        create(0);
        QueueConsumer<String> consumer = queue("q").subscribe();
        Producer<String> producer = client.newProducer(Schema.string()).topic(topic)
                .batchingPolicy(BatchingPolicy.ofDisabled()).create();
        producer.newMessage().value("v").send();
        assertEquals(List.of("v"), consumed(consumer, 1));
    }
}
