package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.MessageIdAdv;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Reader;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.client.api.TransactionIsolationLevel;
import org.apache.pulsar.client.api.transaction.Transaction;
import org.junit.jupiter.api.Test;

/** Messages of transactions in batches, chunks, with delays and keys, and in reads, compactions, and peeks. */
class TransactionalMessagesTest extends TransactionalClient {
    private Reader<String> reader(boolean compacted) throws PulsarClientException {
        return client.newReader(Schema.STRING).topic(topic).startMessageId(MessageId.earliest)
                .readCompacted(compacted).create();
    }

    private static void put(Producer<String> producer, Transaction transaction, String key, String value)
            throws PulsarClientException {
        producer.newMessage(transaction).key(key).value(value).send();
    }

    @Test
    void aBatchIsSeenAfterTheCommit() throws Exception {
        Consumer<String> consumer = exclusive(topic);
        Producer<String> producer = client.newProducer(Schema.STRING).topic(topic).batchingMaxMessages(3)
                .batchingMaxPublishDelay(1, TimeUnit.HOURS).create();
        Transaction transaction = begin();
        Set<Long> entries = entries(List.of(producer.newMessage(transaction).value("v").sendAsync(),
                producer.newMessage(transaction).value("v").sendAsync(),
                producer.newMessage(transaction).value("v").sendAsync()));
        assertEquals(1, entries.size());
        assertQuiet(consumer);
        commit(transaction);
        assertEquals(List.of("v", "v", "v"), values(consumer, 3));
    }

    @Test
    void messagesOfDifferentTransactionsShareNoBatch() throws Exception {
        Producer<String> producer = client.newProducer(Schema.STRING).topic(topic)
                .batchingMaxPublishDelay(500, TimeUnit.MILLISECONDS).create();
        assertEquals(2, entries(List.of(producer.newMessage(begin()).value("a").sendAsync(),
                producer.newMessage(begin()).value("b").sendAsync())).size());
    }

    private static Set<Long> entries(List<CompletableFuture<MessageId>> sends) {
        return sends.stream().map(send -> ((MessageIdAdv) send.join()).getEntryId()).collect(Collectors.toSet());
    }

    @Test
    void aChunkedMessageIsSeenAfterTheCommit() throws Exception {
        String value = "x".repeat(1000);
        Consumer<String> consumer = exclusive(topic);
        Producer<String> producer = client.newProducer(Schema.STRING).topic(topic).enableBatching(false)
                .enableChunking(true).chunkMaxMessageSize(100).create();
        Transaction aborted = begin();
        Transaction transaction = begin();
        send(producer, aborted, "y".repeat(1000));
        send(producer, transaction, value);
        abort(aborted);
        assertQuiet(consumer);
        commit(transaction);
        assertEquals(value, receive(consumer).getValue());
    }

    @Test
    void aDelayedMessageComesAtItsTimeAfterTheCommit() throws Exception {
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        Producer<String> producer = unbatched(topic);
        Transaction transaction = begin();
        long sent = System.currentTimeMillis();
        producer.newMessage(transaction).value("later").deliverAfter(4, TimeUnit.SECONDS).send();
        send(producer, transaction, "now");
        commit(transaction);
        assertEquals(List.of("now", "later"), values(consumer, 2));
        assertTrue(System.currentTimeMillis() - sent >= 3000, "by default it may come one second too early");
    }

    @Test
    void aKeySharedSubscriptionKeepsTheOrderOfAKey() throws Exception {
        List<Consumer<String>> consumers = List.of(
                consumer(SubscriptionType.Key_Shared), consumer(SubscriptionType.Key_Shared));
        Producer<String> producer = unbatched(topic);
        Transaction one = begin();
        Transaction two = begin();
        put(producer, one, "k", "v0");
        put(producer, two, "k", "v1");
        put(producer, one, "k", "v2");
        put(producer, two, "k", "v3");
        commit(two);
        commit(one);
        List<String> got = new ArrayList<>();
        Eventually.until("all four have come", () -> {
            for (Consumer<String> consumer : consumers) {
                Message<String> message = consumer.receive(100, TimeUnit.MILLISECONDS);
                if (message != null) {
                    got.add(message.getValue());
                }
            }
            return got.size() == 4;
        });
        assertEquals(List.of(numbered("v", 4)), got);
    }

    @Test
    void aReaderHasNothingAvailableBehindAnOpenTransaction() throws Exception {
        Producer<String> producer = unbatched(topic);
        producer.send("x");
        Transaction transaction = begin();
        send(producer, transaction, "a");
        producer.send("y");
        Reader<String> reader = reader(false);
        assertEquals(List.of("x"), ReaderTest.readAll(reader));
        commit(transaction);
        assertEquals(List.of("a", "y"), ReaderTest.readAll(reader));
    }

    @Test
    void aReaderHasNothingAvailableAtAnAbortedTail() throws Exception {
        Producer<String> producer = unbatched(topic);
        producer.send("x");
        Transaction transaction = begin();
        send(producer, transaction, "a");
        abort(transaction);
        Reader<String> reader = reader(false);
        assertEquals(List.of("x"), ReaderTest.readAll(reader));
        assertFalse(reader.hasMessageAvailable());
    }

    @Test
    void aSubscriptionAtTheLatestSeesTheRestOfAnOpenTransaction() throws Exception {
        Producer<String> producer = unbatched(topic);
        Transaction transaction = begin();
        send(producer, transaction, "a");
        Consumer<String> consumer = subscribe(topic, "s", SubscriptionType.Exclusive)
                .subscriptionInitialPosition(SubscriptionInitialPosition.Latest).subscribe();
        send(producer, transaction, "b");
        commit(transaction);
        assertEquals("b", receive(consumer).getValue());
    }

    @Test
    void compactionLeavesOutAbortedValues() throws Exception {
        Producer<String> producer = unbatched(topic);
        Transaction committed = begin();
        Transaction aborted = begin();
        put(producer, committed, "k", "old");
        put(producer, committed, "k", "new");
        put(producer, aborted, "k", "never");
        commit(committed);
        abort(aborted);
        CompactionTest.compact(topic);
        assertEquals(List.of("new"), ReaderTest.readAll(reader(true)));
    }

    @Test
    void compactionStopsBeforeAnOpenTransaction() throws Exception {
        Producer<String> producer = unbatched(topic);
        producer.newMessage().key("k").value("x").send();
        Transaction transaction = begin();
        put(producer, transaction, "k", "a");
        CompactionTest.compact(topic);
        assertEquals(List.of("x"), ReaderTest.readAll(reader(true)));
        commit(transaction);
        CompactionTest.compact(topic);
        assertEquals(List.of("a"), ReaderTest.readAll(reader(true)));
    }

    @Test
    void peekingShowsWhatIsCommittedUnlessToldOtherwise() throws Exception {
        exclusive(topic).close();
        Producer<String> producer = unbatched(topic);
        producer.send("x");
        Transaction aborted = begin();
        send(producer, aborted, "never");
        abort(aborted);
        send(producer, begin(), "a");
        assertEquals(List.of("x"), peek(TransactionIsolationLevel.READ_COMMITTED));
        assertEquals(List.of("x", "never", "a"), peek(TransactionIsolationLevel.READ_UNCOMMITTED));
    }

    private List<String> peek(TransactionIsolationLevel level) throws Exception {
        return ADMIN.topics().peekMessages(topic, "s", 10, false, level).stream()
                .map(message -> new String(message.getData())).toList();
    }
}
