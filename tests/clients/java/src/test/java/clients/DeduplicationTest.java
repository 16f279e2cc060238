package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.impl.MessageIdImpl;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class DeduplicationTest extends ClientTest {
    @BeforeEach
    void deduplicateTheNamespace() throws Exception {
        String namespace = newNamespace();
        ADMIN.namespaces().setDeduplicationStatus(namespace, true);
        topic = newTopic(namespace);
    }

    private Producer<String> writer() throws PulsarClientException {
        return client.newProducer(Schema.STRING).topic(topic).producerName("writer").enableBatching(false)
                .sendTimeout(0, TimeUnit.SECONDS).create();
    }

    private static MessageId send(Producer<String> producer, long sequenceId, String value) throws Exception {
        return producer.newMessage().sequenceId(sequenceId).value(value).send();
    }

    @Test
    void aRepeatedSequenceIdIsDroppedAndAnswered() throws Exception {
        Consumer<String> consumer = exclusive(topic);
        Producer<String> producer = writer();
        send(producer, 1, "first");
        send(producer, 1, "again");
        send(producer, 2, "second");
        assertEquals(List.of("first", "second"), values(consumer, 2));
        assertQuiet(consumer);
    }

    @Test
    void aDuplicateHasNoPosition() throws Exception {
        Producer<String> producer = writer();
        send(producer, 1, "first");
        MessageIdImpl duplicate = (MessageIdImpl) send(producer, 1, "again");
        assertEquals(-1, duplicate.getLedgerId());
        assertEquals(-1, duplicate.getEntryId());
    }

    @Test
    void aLowerSequenceIdIsADuplicateToo() throws Exception {
        Consumer<String> consumer = exclusive(topic);
        Producer<String> producer = writer();
        send(producer, 10, "ten");
        send(producer, 3, "three");
        send(producer, 11, "eleven");
        assertEquals(List.of("ten", "eleven"), values(consumer, 2));
    }

    @Test
    void aProducerThatComesBackLearnsItsLastSequenceId() throws Exception {
        Producer<String> producer = writer();
        send(producer, 41, "v");
        producer.close();
        assertEquals(41, writer().getLastSequenceId());
    }

    @Test
    void theLastSequenceIdSurvivesAnUnload() throws Exception {
        Producer<String> producer = writer();
        send(producer, 41, "v");
        producer.close();
        ADMIN.topics().unload(topic);
        assertEquals(41, writer().getLastSequenceId());
    }

    @Test
    void aDuplicateIsRecognisedAfterAnUnload() throws Exception {
        Producer<String> producer = writer();
        send(producer, 1, "first");
        ADMIN.topics().unload(topic);
        send(producer, 1, "again");
        send(producer, 2, "second");
        assertEquals(List.of("first", "second"), values(exclusive(topic), 2));
    }

    @Test
    void producersOfDifferentNamesDoNotShareSequenceIds() throws Exception {
        send(writer(), 1, "writer's");
        Producer<String> other = client.newProducer(Schema.STRING).topic(topic).producerName("other").create();
        send(other, 1, "other's");
        assertEquals(List.of("writer's", "other's"), values(exclusive(topic), 2));
    }

    @Test
    void aRepeatedBatchIsDroppedWhole() throws Exception {
        Producer<String> producer = client.newProducer(Schema.STRING).topic(topic).producerName("writer")
                .batchingMaxPublishDelay(1, TimeUnit.HOURS).create();
        for (int round = 0; round < 2; round++) {
            for (int sequenceId = 1; sequenceId <= 3; sequenceId++) {
                producer.newMessage().sequenceId(sequenceId).value("v" + sequenceId).sendAsync();
            }
            producer.flush();
        }
        Consumer<String> consumer = exclusive(topic);
        assertEquals(List.of("v1", "v2", "v3"), values(consumer, 3));
        assertQuiet(consumer);
    }

    @Test
    void aRepeatedChunkedMessageIsDropped() throws Exception {
        Producer<String> producer = client.newProducer(Schema.STRING).topic(topic).producerName("writer")
                .enableBatching(false).enableChunking(true).chunkMaxMessageSize(100).create();
        String large = "x".repeat(1000);
        send(producer, 1, large);
        send(producer, 1, large);
        send(producer, 2, "end");
        assertEquals(List.of(large, "end"), values(exclusive(topic), 2));
    }

    @Test
    void aTopicMayTurnItOff() throws Exception {
        Producer<String> producer = writer();
        ADMIN.topicPolicies().setDeduplicationStatus(topic, false);
        Eventually.until("a repeated sequence id is stored", () ->
                ((MessageIdImpl) send(producer, 1, "again")).getLedgerId() >= 0
                        && ((MessageIdImpl) send(producer, 1, "again")).getLedgerId() >= 0);
    }
}
