package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Reader;
import org.apache.pulsar.client.api.ReaderBuilder;
import org.apache.pulsar.client.api.Schema;
import org.junit.jupiter.api.Test;

class ReaderTest extends ClientTest {
    private ReaderBuilder<String> reader(MessageId start) {
        return client.newReader(Schema.STRING).topic(topic).startMessageId(start);
    }

    static List<String> readAll(Reader<String> reader) throws PulsarClientException {
        List<String> values = new ArrayList<>();
        while (reader.hasMessageAvailable()) {
            Message<String> message = reader.readNext(15, TimeUnit.SECONDS);
            assertNotNull(message, "a message was announced and did not come");
            values.add(message.getValue());
        }
        return values;
    }

    @Test
    void fromTheEarliestItReadsEverything() throws Exception {
        sendBatch(unbatched(topic), numbered("v", 5));
        assertEquals(List.of(numbered("v", 5)), readAll(reader(MessageId.earliest).create()));
    }

    @Test
    void fromTheLatestItReadsWhatComes() throws Exception {
        Producer<String> producer = unbatched(topic);
        producer.send("old");
        Reader<String> reader = reader(MessageId.latest).create();
        assertFalse(reader.hasMessageAvailable());
        producer.send("new");
        assertEquals(List.of("new"), readAll(reader));
    }

    @Test
    void fromTheLatestInclusiveItBeginsWithTheLastMessage() throws Exception {
        sendBatch(unbatched(topic), "a", "b");
        assertEquals(List.of("b"), readAll(reader(MessageId.latest).startMessageIdInclusive().create()));
    }

    @Test
    void fromAnIdItBeginsAfterIt() throws Exception {
        Producer<String> producer = unbatched(topic);
        MessageId first = producer.send("a");
        producer.send("b");
        assertEquals(List.of("b"), readAll(reader(first).create()));
    }

    @Test
    void fromInsideABatchItBeginsAfterThatMessage() throws Exception {
        sendBatch(batched(topic), numbered("v", 5));
        MessageId third;
        try (Reader<String> reader = reader(MessageId.earliest).create()) {
            reader.readNext();
            reader.readNext();
            third = reader.readNext().getMessageId();
        }
        assertEquals(List.of("v3", "v4"), readAll(reader(third).create()));
        assertEquals(List.of("v2", "v3", "v4"), readAll(reader(third).startMessageIdInclusive().create()));
    }

    @Test
    void itRollsBackByTime() throws Exception {
        sendBatch(unbatched(topic), "a", "b");
        assertEquals(List.of("a", "b"), readAll(client.newReader(Schema.STRING).topic(topic)
                .startMessageFromRollbackDuration(1, TimeUnit.HOURS).create()));
    }

    @Test
    void anEmptyTopicHasNothingAvailable() throws Exception {
        assertFalse(reader(MessageId.earliest).create().hasMessageAvailable());
        assertNull(reader(MessageId.latest).create().readNext(200, TimeUnit.MILLISECONDS));
    }

    @Test
    void itSeeks() throws Exception {
        Producer<String> producer = unbatched(topic);
        producer.send("a");
        MessageId second = producer.send("b");
        producer.send("c");
        Reader<String> reader = reader(MessageId.earliest).startMessageIdInclusive().create();
        assertEquals(List.of("a", "b", "c"), readAll(reader));
        reader.seek(second);
        assertEquals(List.of("b", "c"), readAll(reader));
        reader.seek(MessageId.earliest);
        assertEquals(List.of("a", "b", "c"), readAll(reader));
    }

    @Test
    void itReadsAllPartitions() throws Exception {
        ADMIN.topics().createPartitionedTopic(topic, 3);
        sendBatch(unbatched(topic), numbered("v", 9));
        assertEquals(new TreeSet<>(List.of(numbered("v", 9))),
                new TreeSet<>(readAll(reader(MessageId.earliest).create())));
    }

    @Test
    void itLeavesNoSubscriptionBehind() throws Exception {
        unbatched(topic).send("v");
        Reader<String> reader = reader(MessageId.earliest).create();
        readAll(reader);
        reader.close();
        Eventually.until("no subscription", () -> ADMIN.topics().getSubscriptions(topic).isEmpty());
    }

    @Test
    void itSurvivesAnUnload() throws Exception {
        Producer<String> producer = unbatched(topic);
        producer.send("a");
        Reader<String> reader = reader(MessageId.earliest).create();
        assertEquals("a", reader.readNext().getValue());
        ADMIN.topics().unload(topic);
        producer.send("b");
        assertEquals("b", reader.readNext(15, TimeUnit.SECONDS).getValue());
    }

    @Test
    void itKnowsTheLastId() throws Exception {
        Producer<String> producer = unbatched(topic);
        producer.send("a");
        MessageId last = producer.send("b");
        Reader<String> reader = reader(MessageId.earliest).create();
        assertEquals(0, last.compareTo(reader.getLastMessageIds().get(0)));
        assertTrue(reader.hasMessageAvailable());
    }
}
