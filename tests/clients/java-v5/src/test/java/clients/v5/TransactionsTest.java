package clients.v5;

import static org.junit.jupiter.api.Assertions.assertEquals;

import clients.Eventually;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.TreeSet;
import org.apache.pulsar.client.api.v5.Message;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.QueueConsumer;
import org.apache.pulsar.client.api.v5.StreamConsumer;
import org.apache.pulsar.client.api.v5.Transaction;
import org.apache.pulsar.client.api.v5.config.TransactionPolicy;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Transactions on a scalable topic whose only segment splits while they are open. */
class TransactionsTest extends OnScalableTopic {
    private Producer<String> producer;

    @BeforeEach
    void useTransactions() throws Exception {
        client = newClient(builder().transactionPolicy(
                TransactionPolicy.builder().timeout(Duration.ofSeconds(30)).build()));
        create(1);
        producer = producer();
    }

    private Set<String> send(Transaction transaction, String prefix, int count) throws Exception {
        Set<String> sent = new TreeSet<>();
        for (int i = 0; i < count; i++) {
            producer.newMessage().key("k" + i).value(prefix + i).transaction(transaction).send();
            sent.add(prefix + i);
        }
        return sent;
    }

    /** In this client, a transaction fails if one of its messages meets a sealed segment and is sent again. */
    private void splitAndReconnect() throws Exception {
        split(0);
        producer.close();
        producer = producer();
    }

    @Test
    void aQueueConsumerReceivesTheMessagesWithTheCommit() throws Exception {
        QueueConsumer<String> consumer = queue("q").subscribe();
        Transaction transaction = client.newTransaction();
        Set<String> sent = send(transaction, "before", 4);
        splitAndReconnect();
        sent.addAll(send(transaction, "after", 4));
        assertQuiet(consumer::receive);
        transaction.commit();
        assertEquals(sent, new TreeSet<>(consumed(consumer, 8)));
        assertQuiet(consumer::receive);
    }

    @Test
    void aStreamConsumerReceivesTheMessagesWithTheCommit() throws Exception {
        StreamConsumer<String> consumer = stream(client, "a").subscribe();
        Transaction transaction = client.newTransaction();
        Set<String> sent = send(transaction, "before", 4);
        splitAndReconnect();
        sent.addAll(send(transaction, "after", 4));
        assertQuiet(consumer::receive);
        transaction.commit();
        Set<String> seen = new TreeSet<>();
        Eventually.until("all messages have come", () -> {
            Message<String> message = next(consumer::receive);
            seen.add(message.value());
            consumer.acknowledgeCumulative(message.id());
            return seen.equals(sent);
        });
    }

    @Test
    void anAbortedTransactionLeavesNothing() throws Exception {
        QueueConsumer<String> queue = queue("q").subscribe();
        StreamConsumer<String> stream = stream(client, "a").subscribe();
        Transaction transaction = client.newTransaction();
        send(transaction, "before", 4);
        splitAndReconnect();
        send(transaction, "after", 4);
        transaction.abort();
        producer.newMessage().key("k").value("plain").send();
        assertEquals("plain", next(queue::receive).value());
        assertEquals("plain", next(stream::receive).value());
    }

    @Test
    void acknowledgmentsCountWithTheCommitAfterASplit() throws Exception {
        QueueConsumer<String> consumer = queue("q").subscribe();
        for (int i = 0; i < 4; i++) {
            producer.newMessage().key("k" + i).value("" + i).send();
        }
        Transaction transaction = client.newTransaction();
        for (int i = 0; i < 4; i++) {
            consumer.acknowledge(next(consumer::receive).id(), transaction);
        }
        split(0);
        assertEquals(4, backlog("q"));
        transaction.commit();
        Eventually.until("nothing is left", () -> backlog("q") == 0);
    }

    @Test
    void abortedAcknowledgmentsBringTheMessagesOfASealedSegmentAgain() throws Exception {
        QueueConsumer<String> consumer = queue("q").subscribe();
        for (int i = 0; i < 4; i++) {
            producer.newMessage().key("k" + i).value("" + i).send();
        }
        Transaction transaction = client.newTransaction();
        for (int i = 0; i < 4; i++) {
            consumer.acknowledge(next(consumer::receive).id(), transaction);
        }
        split(0);
        transaction.abort();
        consumer.close();
        assertEquals(numbers(4), new HashSet<>(consumed(queue("q").subscribe(), 4)));
    }
}
