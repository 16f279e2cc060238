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
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.client.api.transaction.Transaction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Messages that are acknowledged in transactions: held until the end, then gone or delivered again. */
class TransactionalAcknowledgementsTest extends TransactionalClient {
    private static List<Message<String>> receive(Consumer<String> consumer, int count) throws PulsarClientException {
        List<Message<String>> messages = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            messages.add(receive(consumer));
        }
        return messages;
    }

    /** The IDs of the first messages of the topic, which are these values. */
    private List<MessageId> arrived(Consumer<String> consumer, String... values) throws PulsarClientException {
        sendBatch(unbatched(topic), values);
        return receive(consumer, values.length).stream().map(Message::getMessageId).toList();
    }

    private static List<String> again(Consumer<String> consumer, int count) throws PulsarClientException {
        return receive(consumer, count).stream().map(Message::getValue).toList();
    }

    private static void acknowledgeTo(Consumer<String> consumer, MessageId id, Transaction transaction)
            throws Exception {
        answer(consumer.acknowledgeCumulativeAsync(id, transaction));
    }

    @ParameterizedTest
    @EnumSource(SubscriptionType.class)
    void messagesStayInTheBacklogUntilTheCommit(SubscriptionType type) throws Exception {
        Consumer<String> consumer = consumer(type);
        List<MessageId> ids = arrived(consumer, "a", "b");
        Transaction transaction = begin();
        acknowledge(consumer, ids.get(0), transaction);
        acknowledge(consumer, ids.get(1), transaction);
        assertEquals(2, backlog());
        commit(transaction);
        assertEquals(0, backlog());
    }

    @ParameterizedTest
    @EnumSource(SubscriptionType.class)
    void messagesComeAgainAfterTheAbort(SubscriptionType type) throws Exception {
        Consumer<String> consumer = consumer(type);
        List<MessageId> ids = arrived(consumer, "a", "b");
        Transaction transaction = begin();
        acknowledge(consumer, ids.get(0), transaction);
        acknowledge(consumer, ids.get(1), transaction);
        assertQuiet(consumer);
        abort(transaction);
        assertEquals(List.of("a", "b"), again(consumer, 2));
    }

    @Test
    void anAbortCountsAsARedeliveryOfASharedMessage() throws Exception {
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        List<MessageId> ids = arrived(consumer, "a", "b");
        Transaction transaction = begin();
        acknowledge(consumer, ids.get(0), transaction);
        abort(transaction);
        Message<String> message = receive(consumer);
        assertEquals("a", message.getValue());
        assertEquals(1, message.getRedeliveryCount());
    }

    @Test
    void messagesComeAgainAfterTheTimeout() throws Exception {
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        List<MessageId> ids = arrived(consumer, "a", "b");
        acknowledge(consumer, ids.get(0), begin(2));
        assertEquals(List.of("a"), again(consumer, 1));
    }

    @Test
    void consumingAndProducingIsOneStep() throws Exception {
        String target = newTopic();
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        Consumer<String> results = exclusive(target);
        Producer<String> producer = unbatched(target);
        unbatched(topic).send("a");
        transform(consumer, producer, "failed").abort().get();
        transform(consumer, producer, "done").commit().get();
        assertEquals("done", receive(results).getValue());
        assertEquals(0, backlog());
    }

    private Transaction transform(Consumer<String> consumer, Producer<String> producer, String result)
            throws Exception {
        Transaction transaction = begin();
        acknowledge(consumer, receive(consumer).getMessageId(), transaction);
        send(producer, transaction, result);
        return transaction;
    }

    @Test
    void severalSubscriptionsAndTopicsAreAcknowledgedTogether() throws Exception {
        ADMIN.topics().createPartitionedTopic(topic, 2);
        Consumer<String> one = consumer("one", SubscriptionType.Shared);
        Consumer<String> two = consumer("two", SubscriptionType.Shared);
        sendBatch(unbatched(topic), numbered("v", 4));
        Transaction transaction = begin();
        for (Consumer<String> consumer : List.of(one, two)) {
            for (Message<String> message : receive(consumer, 4)) {
                acknowledge(consumer, message.getMessageId(), transaction);
            }
        }
        commit(transaction);
        ADMIN.topics().getPartitionedStats(topic, false).getSubscriptions()
                .forEach((name, stats) -> assertEquals(0, stats.getMsgBacklog(), name));
    }

    @Test
    void aListIsAcknowledgedAsAWhole() throws Exception {
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        List<MessageId> ids = arrived(consumer, "a", "b", "c");
        Transaction transaction = begin();
        answer(consumer.acknowledgeAsync(ids.subList(0, 2), transaction));
        commit(transaction);
        assertEquals(1, backlog());
    }

    @Test
    void aHeldMessageGoesToNoOtherConsumer() throws Exception {
        Consumer<String> consumer = consumer(SubscriptionType.Exclusive);
        List<MessageId> ids = arrived(consumer, "a", "b");
        Transaction transaction = begin();
        acknowledge(consumer, ids.get(0), transaction);
        consumer.close();
        Consumer<String> next = consumer(SubscriptionType.Exclusive);
        assertEquals(List.of("b"), again(next, 1));
        abort(transaction);
        assertEquals("a", receive(next).getValue());
    }

    @Test
    void aHeldMessageIsNotRedeliveredOnRequest() throws Exception {
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        List<MessageId> ids = arrived(consumer, "a", "b");
        acknowledge(consumer, ids.get(0), begin());
        consumer.redeliverUnacknowledgedMessages();
        assertEquals(List.of("b"), again(consumer, 1));
        assertQuiet(consumer);
    }

    @Test
    void aSeekSkipsHeldMessages() throws Exception {
        Consumer<String> consumer = consumer(SubscriptionType.Exclusive);
        List<MessageId> ids = arrived(consumer, "a", "b");
        acknowledge(consumer, ids.get(0), begin());
        consumer.seek(MessageId.earliest);
        assertEquals("b", receive(consumer).getValue());
    }

    @Test
    void heldMessagesSurviveAnUnload() throws Exception {
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        List<MessageId> ids = arrived(consumer, "a", "b");
        Transaction transaction = begin();
        acknowledge(consumer, ids.get(0), transaction);
        ADMIN.topics().unload(topic);
        assertEquals(List.of("b"), again(consumer, 1));
        commit(transaction);
        Eventually.until("it is acknowledged", () -> backlog() == 1);
    }

    @Test
    void aMessageIsHeldByOneTransaction() throws Exception {
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        List<MessageId> ids = arrived(consumer, "a");
        Transaction first = begin();
        Transaction second = begin();
        acknowledge(consumer, ids.get(0), first);
        assertFails(PulsarClientException.TransactionConflictException.class,
                consumer.acknowledgeAsync(ids.get(0), second));
        assertFails(PulsarClientException.TransactionHasOperationFailedException.class, second.commit());
        commit(first);
        assertEquals(0, backlog());
    }

    @Test
    void anAcknowledgedMessageConflicts() throws Exception {
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        List<MessageId> ids = arrived(consumer, "a");
        consumer.acknowledge(ids.get(0));
        assertFails(PulsarClientException.TransactionConflictException.class,
                consumer.acknowledgeAsync(ids.get(0), begin()));
    }

    @Test
    void aConflictHoldsNothingOfAList() throws Exception {
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        List<MessageId> ids = arrived(consumer, "a", "b");
        acknowledge(consumer, ids.get(1), begin());
        assertFails(PulsarClientException.TransactionConflictException.class,
                consumer.acknowledgeAsync(ids, begin()));
        acknowledge(consumer, ids.get(0), begin());
    }

    @Test
    void anAcknowledgementOutsideOfTransactionsCounts() throws Exception {
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        List<MessageId> ids = arrived(consumer, "a", "b");
        Transaction transaction = begin();
        acknowledge(consumer, ids.get(0), transaction);
        acknowledge(consumer, ids.get(1), transaction);
        consumer.acknowledge(ids.get(0));
        abort(transaction);
        assertEquals(List.of("b"), again(consumer, 1));
        assertEquals(1, backlog());
    }

    @Test
    void aCumulativeAcknowledgementIsCommitted() throws Exception {
        Consumer<String> consumer = consumer(SubscriptionType.Exclusive);
        List<MessageId> ids = arrived(consumer, "a", "b", "c");
        Transaction transaction = begin();
        acknowledgeTo(consumer, ids.get(1), transaction);
        assertEquals(3, backlog());
        commit(transaction);
        assertEquals(1, backlog());
    }

    @Test
    void anAbortedCumulativeAcknowledgementWaitsForARequest() throws Exception {
        Consumer<String> consumer = consumer(SubscriptionType.Exclusive);
        List<MessageId> ids = arrived(consumer, "a", "b");
        Transaction transaction = begin();
        acknowledgeTo(consumer, ids.get(1), transaction);
        abort(transaction);
        assertQuiet(consumer);
        consumer.redeliverUnacknowledgedMessages();
        assertEquals(List.of("a", "b"), again(consumer, 2));
    }

    @Test
    void oneTransactionAtATimeAcknowledgesCumulatively() throws Exception {
        Consumer<String> consumer = consumer(SubscriptionType.Exclusive);
        List<MessageId> ids = arrived(consumer, "a", "b");
        Transaction first = begin();
        acknowledgeTo(consumer, ids.get(0), first);
        assertFails(PulsarClientException.TransactionConflictException.class,
                consumer.acknowledgeCumulativeAsync(ids.get(1), begin()));
        acknowledgeTo(consumer, ids.get(1), first);
        commit(first);
        assertEquals(0, backlog());
    }

    @Test
    void aSingleAcknowledgementBesideACumulativeOneIsNotLost() throws Exception {
        Consumer<String> consumer = consumer(SubscriptionType.Exclusive);
        List<MessageId> ids = arrived(consumer, "a", "b", "c");
        Transaction cumulative = begin();
        Transaction single = begin();
        acknowledgeTo(consumer, ids.get(0), cumulative);
        acknowledge(consumer, ids.get(2), single);
        commit(single);
        commit(cumulative);
        assertEquals(1, backlog());
    }

    @Test
    void messagesOfABatchAreHeldOneByOne() throws Exception {
        Consumer<String> consumer = consumer(SubscriptionType.Shared);
        sendBatch(batched(topic), numbered("v", 3));
        List<Message<String>> batch = receive(consumer, 3);
        Transaction committed = begin();
        Transaction aborted = begin();
        acknowledge(consumer, batch.get(0).getMessageId(), committed);
        acknowledge(consumer, batch.get(1).getMessageId(), aborted);
        assertFails(PulsarClientException.TransactionConflictException.class,
                consumer.acknowledgeAsync(batch.get(0).getMessageId(), aborted));
        commit(committed);
        abort(aborted);
        consumer.close();
        assertEquals(List.of("v1", "v2"), again(consumer(SubscriptionType.Shared), 2));
    }

    @Test
    void aChunkedMessageIsAcknowledgedAsAWhole() throws Exception {
        Consumer<String> consumer = consumer(SubscriptionType.Exclusive);
        client.newProducer(Schema.STRING).topic(topic).enableBatching(false).enableChunking(true)
                .chunkMaxMessageSize(100).create().send("x".repeat(1000));
        Transaction transaction = begin();
        acknowledge(consumer, receive(consumer).getMessageId(), transaction);
        commit(transaction);
        assertEquals(0, backlog());
    }

    @Test
    void aTransactionEndsWithoutItsSubscription() throws Exception {
        Consumer<String> consumer = consumer(SubscriptionType.Exclusive);
        List<MessageId> ids = arrived(consumer, "a");
        Transaction transaction = begin();
        acknowledge(consumer, ids.get(0), transaction);
        consumer.unsubscribe();
        commit(transaction);
        assertEquals("a", receive(exclusive(topic)).getValue());
    }
}
