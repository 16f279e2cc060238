package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.TreeSet;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.client.api.transaction.Transaction;
import org.apache.pulsar.client.api.transaction.TransactionCoordinatorClientException;
import org.apache.pulsar.client.impl.PulsarClientImpl;
import org.junit.jupiter.api.Test;

/** How transactions end, and what is then seen of their messages. */
class TransactionsTest extends TransactionalClient {
    @Test
    void messagesAreSeenAfterTheCommit() throws Exception {
        Consumer<String> consumer = exclusive(topic);
        Producer<String> producer = unbatched(topic);
        Transaction transaction = begin();
        send(producer, transaction, "a");
        send(producer, transaction, "b");
        assertQuiet(consumer);
        commit(transaction);
        assertEquals(List.of("a", "b"), values(consumer, 2));
    }

    @Test
    void messagesOfAnAbortedTransactionAreNeverSeen() throws Exception {
        Consumer<String> consumer = exclusive(topic);
        Producer<String> producer = unbatched(topic);
        Transaction transaction = begin();
        send(producer, transaction, "a");
        abort(transaction);
        producer.send("x");
        assertEquals("x", receive(consumer).getValue());
    }

    @Test
    void messagesOutsideOfTransactionsWaitForTheOpenOneBeforeThem() throws Exception {
        Consumer<String> consumer = exclusive(topic);
        Producer<String> producer = unbatched(topic);
        producer.send("before");
        Transaction transaction = begin();
        send(producer, transaction, "a");
        producer.send("after");
        assertEquals(List.of("before"), values(consumer, 1));
        assertQuiet(consumer);
        commit(transaction);
        assertEquals(List.of("a", "after"), values(consumer, 2));
    }

    @Test
    void committedMessagesWaitForAnOlderTransactionAndKeepTheirOrder() throws Exception {
        Consumer<String> consumer = exclusive(topic);
        Producer<String> producer = unbatched(topic);
        Transaction older = begin();
        Transaction younger = begin();
        send(producer, older, "a");
        send(producer, younger, "b");
        send(producer, older, "c");
        commit(younger);
        assertQuiet(consumer);
        commit(older);
        assertEquals(List.of("a", "b", "c"), values(consumer, 3));
    }

    @Test
    void aTransactionWithoutMessagesHoldsNothingBack() throws Exception {
        Consumer<String> consumer = exclusive(topic);
        Transaction transaction = begin();
        unbatched(topic).send("x");
        assertEquals("x", receive(consumer).getValue());
        commit(transaction);
    }

    @Test
    void partitionsAndTopicsAreCommittedTogether() throws Exception {
        ADMIN.topics().createPartitionedTopic(topic, 3);
        String other = newTopic();
        Consumer<String> consumer = client.newConsumer(Schema.STRING).topic(topic, other).subscriptionName("s")
                .subscribe();
        Transaction transaction = begin();
        Producer<String> producer = unbatched(topic);
        for (String value : numbered("v", 6)) {
            send(producer, transaction, value);
        }
        send(unbatched(other), transaction, "v6");
        assertQuiet(consumer);
        commit(transaction);
        assertEquals(new TreeSet<>(List.of(numbered("v", 7))), new TreeSet<>(values(consumer, 7)));
    }

    @Test
    void partitionsAndTopicsAreAbortedTogether() throws Exception {
        ADMIN.topics().createPartitionedTopic(topic, 3);
        String other = newTopic();
        Consumer<String> consumer = client.newConsumer(Schema.STRING).topic(topic, other).subscriptionName("s")
                .subscribe();
        Transaction transaction = begin();
        Producer<String> producer = unbatched(topic);
        for (String value : numbered("v", 6)) {
            send(producer, transaction, value);
        }
        send(unbatched(other), transaction, "v6");
        abort(transaction);
        sendBatch(producer, "x", "x", "x");
        unbatched(other).send("x");
        assertEquals(List.of("x", "x", "x", "x"), values(consumer, 4));
    }

    @Test
    void producersOfOtherClientsTakePart() throws Exception {
        Consumer<String> consumer = exclusive(topic);
        Transaction transaction = begin();
        send(unbatched(topic), transaction, "a");
        client = newClient();
        send(unbatched(topic), transaction, "b");
        assertQuiet(consumer);
        commit(transaction);
        assertEquals(List.of("a", "b"), values(consumer, 2));
    }

    @Test
    void theTransactionsOfAClosedClientTimeOut() throws Exception {
        Consumer<String> consumer = exclusive(topic);
        Producer<String> producer = unbatched(topic);
        client = newClient();
        send(unbatched(topic), begin(2), "a");
        client.close();
        producer.send("x");
        assertEquals("x", receive(consumer).getValue());
    }

    @Test
    void aTransactionThatTimesOutIsAborted() throws Exception {
        Consumer<String> consumer = exclusive(topic);
        Producer<String> producer = unbatched(topic);
        Transaction transaction = begin(2);
        send(producer, transaction, "a");
        producer.send("x");
        assertEquals("x", receive(consumer).getValue());
        assertFails(TransactionCoordinatorClientException.TransactionNotFoundException.class,
                ((PulsarClientImpl) client).getTcClient().commitAsync(transaction.getTxnID()));
    }

    @Test
    void anAdministratorAbortsATransaction() throws Exception {
        Consumer<String> consumer = exclusive(topic);
        Producer<String> producer = unbatched(topic);
        Transaction transaction = begin();
        send(producer, transaction, "a");
        producer.send("x");
        ADMIN.transactions().abortTransaction(transaction.getTxnID());
        assertEquals("x", receive(consumer).getValue());
        assertFails(TransactionCoordinatorClientException.TransactionNotFoundException.class, transaction.commit());
    }

    @Test
    void aCommitThatIsSentAgainSucceeds() throws Exception {
        Transaction transaction = begin();
        commit(transaction);
        answer(((PulsarClientImpl) client).getTcClient().commitAsync(transaction.getTxnID()));
    }

    @Test
    void aCommittedTransactionIsNotAborted() throws Exception {
        Transaction transaction = begin();
        commit(transaction);
        assertFails(TransactionCoordinatorClientException.TransactionNotFoundException.class,
                ((PulsarClientImpl) client).getTcClient().abortAsync(transaction.getTxnID()));
    }

    @Test
    void aTransactionSurvivesAnUnload() throws Exception {
        Consumer<String> consumer = exclusive(topic);
        Producer<String> producer = unbatched(topic);
        Transaction aborted = begin();
        Transaction transaction = begin();
        send(producer, aborted, "never");
        send(producer, transaction, "a");
        abort(aborted);
        ADMIN.topics().unload(topic);
        send(producer, transaction, "b");
        assertQuiet(consumer);
        commit(transaction);
        ADMIN.topics().unload(topic);
        assertEquals(List.of("a", "b"), values(consumer("late", SubscriptionType.Exclusive), 2));
    }

    @Test
    void aTransactionEndsOnATerminatedTopic() throws Exception {
        Consumer<String> consumer = exclusive(topic);
        Transaction transaction = begin();
        send(unbatched(topic), transaction, "a");
        ADMIN.topics().terminateTopic(topic);
        commit(transaction);
        assertEquals("a", receive(consumer).getValue());
    }

    @Test
    void aNonPersistentTopicHasNoTransactions() throws Exception {
        Producer<String> producer = unbatched(topic.replace("persistent:", "non-persistent:"));
        Transaction transaction = begin();
        assertThrows(PulsarClientException.NotAllowedException.class, () -> send(producer, transaction, "a"));
        assertFails(PulsarClientException.TransactionHasOperationFailedException.class, transaction.commit());
    }
}
