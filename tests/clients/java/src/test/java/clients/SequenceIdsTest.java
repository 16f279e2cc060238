package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.Schema;
import org.junit.jupiter.api.Test;

class SequenceIdsTest extends ClientTest {
    @Test
    void aNewProducerBeginsBelowZero() throws Exception {
        assertEquals(-1, unbatched(topic).getLastSequenceId());
    }

    @Test
    void eachMessageHasTheNextSequenceId() throws Exception {
        Producer<String> producer = unbatched(topic);
        producer.send("a");
        producer.send("b");
        assertEquals(1, producer.getLastSequenceId());
        var consumer = exclusive(topic);
        assertEquals(0, receive(consumer).getSequenceId());
        assertEquals(1, receive(consumer).getSequenceId());
    }

    @Test
    void anInitialSequenceIdIsCountedFrom() throws Exception {
        Producer<String> producer = client.newProducer(Schema.STRING).topic(topic).initialSequenceId(41).create();
        producer.send("a");
        assertEquals(42, receive(exclusive(topic)).getSequenceId());
    }

    @Test
    void anOwnSequenceIdTravelsWithTheMessage() throws Exception {
        unbatched(topic).newMessage().sequenceId(1000).value("a").send();
        assertEquals(1000, receive(exclusive(topic)).getSequenceId());
    }

    @Test
    void withoutDeduplicationARepeatedSequenceIdIsStoredAgain() throws Exception {
        Producer<String> producer = unbatched(topic);
        producer.newMessage().sequenceId(5).value("a").send();
        producer.newMessage().sequenceId(5).value("b").send();
        assertEquals(java.util.List.of("a", "b"), values(exclusive(topic), 2));
    }

    @Test
    void theMessagesOfABatchHaveSequenceIdsOfTheirOwn() throws Exception {
        sendBatch(batched(topic), "a", "b", "c");
        var consumer = exclusive(topic);
        for (long expected = 0; expected < 3; expected++) {
            assertEquals(expected, receive(consumer).getSequenceId());
        }
    }
}
