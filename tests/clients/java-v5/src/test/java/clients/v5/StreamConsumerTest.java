package clients.v5;

import clients.Eventually;
import org.apache.pulsar.client.api.v5.Message;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.client.api.v5.StreamConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** This client does not say that a stream consumer closes: its partitions move after the grace period of run.py. */
class StreamConsumerTest extends V5Test {
    private final KeyedMessages messages = new KeyedMessages();

    private StreamConsumer<String> stream(String consumerName) throws Exception {
        return stream(client, consumerName).subscribe();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 4})
    void theMessagesOfAKeyComeInOrder(int partitions) throws Exception {
        create(partitions);
        StreamConsumer<String> consumer = stream("a");
        messages.send(producer(), 100);
        messages.receiveAll(consumer);
        assertQuiet(consumer::receive);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 4})
    void acknowledgedMessagesDoNotComeAgain(int partitions) throws Exception {
        create(partitions);
        messages.send(producer(), 32);
        PulsarClient first = newClient();
        messages.receiveAll(stream(first, "a").subscribe());
        Eventually.until("nothing is left", () -> backlog("s") == 0);
        first.close();
        assertQuiet(stream("a")::receive);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 4})
    void whatIsNotAcknowledgedComesAgain(int partitions) throws Exception {
        create(partitions);
        messages.send(producer(), 32);
        PulsarClient first = newClient();
        StreamConsumer<String> consumer = stream(first, "a").subscribe();
        Message<String> tenth = null;
        for (int i = 0; i < 10; i++) {
            messages.add(tenth = next(consumer::receive));
        }
        consumer.acknowledgeCumulative(tenth.id());
        next(consumer::receive);
        Eventually.until("ten are acknowledged", () -> backlog("s") == 22);
        first.shutdown();
        messages.receiveAll(stream("a"));
    }

    @Test
    void twoConsumersShareThePartitions() throws Exception {
        create(4);
        StreamConsumer<String> one = stream("a");
        Producer<String> producer = producer();
        messages.send(producer, 32);
        messages.receiveAll(one);
        StreamConsumer<String> two = stream(newClient(), "b").subscribe();
        messages.send(producer, 64);
        messages.receiveAll(one, two);
    }

    @Test
    void thePartitionsOfAClosedConsumerGoToTheOther() throws Exception {
        create(4);
        PulsarClient other = newClient();
        handOver(stream("a"), stream(other, "b").subscribe(), other::close);
    }

    @Test
    void thePartitionsOfALostConnectionGoToTheOther() throws Exception {
        create(4);
        PulsarClient other = newClient();
        handOver(stream("a"), stream(other, "b").subscribe(), other::shutdown);
    }

    private interface Step {
        void run() throws Exception;
    }

    private void handOver(StreamConsumer<String> stays, StreamConsumer<String> leaves, Step step) throws Exception {
        Producer<String> producer = producer();
        messages.send(producer, 64);
        messages.receiveAll(stays, leaves);
        step.run();
        messages.send(producer, 64);
        messages.receiveAll(stays);
    }

    @Test
    void consumersComeBackAfterAnUnload() throws Exception {
        create(4);
        StreamConsumer<String> one = stream("a");
        StreamConsumer<String> two = stream(newClient(), "b").subscribe();
        Producer<String> producer = producer();
        messages.send(producer, 64);
        messages.receiveAll(one, two);
        ADMIN.topics().unload(topic);
        messages.send(producer, 64);
        messages.receiveAll(one, two);
    }
}
