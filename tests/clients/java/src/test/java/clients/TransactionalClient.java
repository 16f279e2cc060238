package clients;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.ClientBuilder;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.client.api.transaction.Transaction;

/** What the tests of transactions start from: clients that may begin them, and the steps of a transaction. */
abstract class TransactionalClient extends ClientTest {
    private static final int ANSWERED_SECONDS = 30;

    @Override
    protected ClientBuilder builder() {
        return super.builder().enableTransaction(true);
    }

    protected Transaction begin() throws Exception {
        return begin(120);
    }

    protected Transaction begin(int timeoutSeconds) throws Exception {
        return answer(client.newTransaction().withTransactionTimeout(timeoutSeconds, TimeUnit.SECONDS).build());
    }

    protected static void commit(Transaction transaction) throws Exception {
        answer(transaction.commit());
    }

    protected static void abort(Transaction transaction) throws Exception {
        answer(transaction.abort());
    }

    protected static MessageId send(Producer<String> producer, Transaction transaction, String value)
            throws PulsarClientException {
        return producer.newMessage(transaction).value(value).send();
    }

    /** A consumer that waits for the answer to each acknowledgement. */
    protected Consumer<String> consumer(SubscriptionType type) throws PulsarClientException {
        return consumer("s", type);
    }

    protected Consumer<String> consumer(String subscription, SubscriptionType type) throws PulsarClientException {
        return subscribe(topic, subscription, type).isAckReceiptEnabled(true).enableBatchIndexAcknowledgment(true)
                .subscribe();
    }

    protected static void acknowledge(Consumer<String> consumer, MessageId id, Transaction transaction)
            throws Exception {
        answer(consumer.acknowledgeAsync(id, transaction));
    }

    protected static <T> T answer(Future<T> request) throws Exception {
        return request.get(ANSWERED_SECONDS, TimeUnit.SECONDS);
    }

    protected static void assertFails(Class<? extends Exception> reason, Future<?> request) {
        assertInstanceOf(reason, assertThrows(ExecutionException.class, () -> answer(request)).getCause());
    }

    protected long backlog() throws Exception {
        return ADMIN.topics().getStats(topic).getSubscriptions().get("s").getMsgBacklog();
    }
}
