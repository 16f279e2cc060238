package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.client.impl.ChunkMessageIdImpl;
import org.junit.jupiter.api.Test;

class ChunkingTest extends ClientTest {
    private Producer<String> chunking(int chunkBytes) throws PulsarClientException {
        return client.newProducer(Schema.STRING).topic(topic).enableBatching(false).enableChunking(true)
                .chunkMaxMessageSize(chunkBytes).create();
    }

    private static String large(char letter, int size) {
        return String.valueOf(letter).repeat(size);
    }

    @Test
    void aMessageBeyondTheSizeLimitArrivesWhole() throws Exception {
        String value = large('x', 12 * 1024 * 1024);
        Consumer<String> consumer = exclusive(topic);
        client.newProducer(Schema.STRING).topic(topic).enableBatching(false).enableChunking(true).create().send(value);
        assertTrue(value.equals(receive(consumer).getValue()), "the value changed");
    }

    @Test
    void theIdSpansFirstToLastChunk() throws Exception {
        Consumer<String> consumer = exclusive(topic);
        MessageId sent = chunking(100).send(large('x', 1000));
        ChunkMessageIdImpl id = assertInstanceOf(ChunkMessageIdImpl.class, receive(consumer).getMessageId());
        assertEquals(sent, id);
        assertTrue(id.getFirstChunkMessageId().compareTo(id) < 0);
    }

    @Test
    void chunksOfSeveralProducersMayAlternate() throws Exception {
        Consumer<String> consumer = exclusive(topic);
        Map<Character, CompletableFuture<MessageId>> sends = new HashMap<>();
        for (char letter : new char[] {'a', 'b', 'c'}) {
            client = newClient();
            sends.put(letter, chunking(1000).sendAsync(large(letter, 100_000)));
        }
        for (CompletableFuture<MessageId> send : sends.values()) {
            send.get(10, TimeUnit.SECONDS);
        }
        TreeSet<String> expected = new TreeSet<>();
        sends.keySet().forEach(letter -> expected.add(large(letter, 100_000)));
        assertEquals(expected, new TreeSet<>(values(consumer, 3)));
    }

    @Test
    void acknowledgingAChunkedMessageLeavesNothing() throws Exception {
        Consumer<String> consumer = exclusive(topic);
        chunking(100).send(large('x', 1000));
        values(consumer, 1);
        Eventually.until("no backlog",
                () -> ADMIN.topics().getStats(topic).getSubscriptions().get("s").getMsgBacklog() == 0);
    }

    @Test
    void anUnacknowledgedChunkedMessageComesAgain() throws Exception {
        chunking(100).send(large('x', 1000));
        Consumer<String> consumer = exclusive(topic);
        receive(consumer);
        consumer.close();
        assertEquals(large('x', 1000), receive(exclusive(topic)).getValue());
    }

    @Test
    void sharedConsumersGetWholeMessages() throws Exception {
        Consumer<String> one = subscribe(topic, "s", SubscriptionType.Shared).receiverQueueSize(50).subscribe();
        Consumer<String> two = subscribe(topic, "s", SubscriptionType.Shared).receiverQueueSize(50).subscribe();
        Producer<String> producer = chunking(100);
        for (char letter = 'a'; letter < 'k'; letter++) {
            producer.send(large(letter, 500));
        }
        TreeSet<String> got = new TreeSet<>();
        for (int quiet = 0; got.size() < 10 && quiet < 40;) {
            for (Consumer<String> consumer : java.util.List.of(one, two)) {
                Message<String> message = consumer.receive(250, TimeUnit.MILLISECONDS);
                if (message == null) {
                    quiet++;
                } else {
                    consumer.acknowledge(message);
                    got.add(message.getValue());
                }
            }
        }
        assertEquals(10, got.size());
        got.forEach(value -> assertEquals(500, value.length()));
    }

    @Test
    void aReaderSeeksToAChunkedMessage() throws Exception {
        Producer<String> producer = chunking(100);
        producer.send("before");
        MessageId id = producer.send(large('x', 1000));
        producer.send("after");
        try (var reader = client.newReader(Schema.STRING).topic(topic).startMessageId(id).startMessageIdInclusive()
                .create()) {
            assertEquals(large('x', 1000), reader.readNext().getValue());
            assertEquals("after", reader.readNext().getValue());
        }
    }

    @Test
    void aChunkedMessageMayBeCompressed() throws Exception {
        Consumer<String> consumer = exclusive(topic);
        StringBuilder value = new StringBuilder();
        for (int i = 0; i < 20_000; i++) {
            value.append(i);
        }
        client.newProducer(Schema.STRING).topic(topic).enableBatching(false).enableChunking(true)
                .chunkMaxMessageSize(1000).compressionType(org.apache.pulsar.client.api.CompressionType.LZ4).create()
                .send(value.toString());
        assertEquals(value.toString(), receive(consumer).getValue());
    }
}
