package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Reader;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.client.admin.LongRunningProcessStatus;
import org.junit.jupiter.api.Test;

class CompactionTest extends ClientTest {
    static void compact(String topic) throws Exception {
        ADMIN.topics().triggerCompaction(topic);
        Eventually.until("compacted", () ->
                ADMIN.topics().compactionStatus(topic).status == LongRunningProcessStatus.Status.SUCCESS);
    }

    private static void put(Producer<String> producer, String key, String value) throws PulsarClientException {
        producer.newMessage().key(key).value(value).send();
    }

    private List<String> readCompacted() throws Exception {
        List<String> values = new ArrayList<>();
        try (Reader<String> reader = client.newReader(Schema.STRING).topic(topic).startMessageId(MessageId.earliest)
                .readCompacted(true).create()) {
            while (reader.hasMessageAvailable()) {
                Message<String> message = reader.readNext(15, TimeUnit.SECONDS);
                values.add(message.getKey() + "=" + message.getValue());
            }
        }
        return values;
    }

    @Test
    void aCompactedReadShowsTheLastValueOfEachKey() throws Exception {
        Producer<String> producer = unbatched(topic);
        put(producer, "a", "1");
        put(producer, "b", "2");
        put(producer, "a", "3");
        compact(topic);
        assertEquals(List.of("b=2", "a=3"), readCompacted());
    }

    @Test
    void aPlainReadShowsEverything() throws Exception {
        Producer<String> producer = unbatched(topic);
        exclusive(topic).close();
        put(producer, "a", "1");
        put(producer, "a", "2");
        compact(topic);
        assertEquals(List.of("1", "2"), values(exclusive(topic), 2));
    }

    @Test
    void aCompactedConsumerGoesOnWithNewMessages() throws Exception {
        Producer<String> producer = unbatched(topic);
        put(producer, "a", "1");
        put(producer, "a", "2");
        compact(topic);
        put(producer, "a", "3");
        Consumer<String> consumer = subscribe(topic, "s", SubscriptionType.Exclusive).readCompacted(true).subscribe();
        assertEquals(List.of("2", "3"), values(consumer, 2));
    }

    @Test
    void aNullValueDeletesAKey() throws Exception {
        Producer<String> producer = unbatched(topic);
        put(producer, "a", "1");
        put(producer, "b", "2");
        producer.newMessage().key("a").value(null).send();
        compact(topic);
        assertEquals(List.of("b=2"), readCompacted());
    }

    @Test
    void batchesAreCompactedToo() throws Exception {
        Producer<String> producer = batched(topic);
        for (String value : numbered("", 10)) {
            producer.newMessage().key("k" + Integer.parseInt(value) % 2).value(value).sendAsync();
        }
        producer.flush();
        compact(topic);
        assertEquals(List.of("k0=8", "k1=9"), readCompacted());
    }

    @Test
    void compactionGoesOnFromTheLastOne() throws Exception {
        Producer<String> producer = unbatched(topic);
        put(producer, "a", "1");
        put(producer, "b", "2");
        compact(topic);
        put(producer, "a", "3");
        compact(topic);
        assertEquals(List.of("b=2", "a=3"), readCompacted());
    }

    @Test
    void anEmptyCompactedTopicReadsToItsEnd() throws Exception {
        Producer<String> producer = unbatched(topic);
        put(producer, "a", "1");
        producer.newMessage().key("a").value(null).send();
        compact(topic);
        assertEquals(List.of(), readCompacted());
    }
}
