package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.ProducerAccessMode;
import org.apache.pulsar.client.api.ProducerBuilder;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.junit.jupiter.api.Test;

class AccessModesTest extends ClientTest {
    private ProducerBuilder<String> producer(ProducerAccessMode mode) {
        return client.newProducer(Schema.STRING).topic(topic).accessMode(mode);
    }

    @Test
    void aSecondExclusiveProducerIsFenced() throws Exception {
        producer(ProducerAccessMode.Exclusive).create();
        assertThrows(PulsarClientException.ProducerFencedException.class,
                producer(ProducerAccessMode.Exclusive)::create);
    }

    @Test
    void anExclusiveProducerIsFencedWhereASharedOneIs() throws Exception {
        producer(ProducerAccessMode.Shared).create();
        assertThrows(PulsarClientException.ProducerFencedException.class,
                producer(ProducerAccessMode.Exclusive)::create);
    }

    @Test
    void aSharedProducerIsBusyWhereAnExclusiveOneIs() throws Exception {
        producer(ProducerAccessMode.Exclusive).create();
        assertThrows(PulsarClientException.ProducerBusyException.class, producer(ProducerAccessMode.Shared)::create);
    }

    @Test
    void theNextExclusiveProducerGetsIn() throws Exception {
        producer(ProducerAccessMode.Exclusive).create().close();
        producer(ProducerAccessMode.Exclusive).create().send("in");
        assertEquals("in", receive(exclusive(topic)).getValue());
    }

    @Test
    void aWaitingProducerGetsInWhenTheExclusiveOneLeaves() throws Exception {
        Producer<String> first = producer(ProducerAccessMode.Exclusive).create();
        CompletableFuture<Producer<String>> waiting = producer(ProducerAccessMode.WaitForExclusive).createAsync();
        Eventually.until("both on the topic", () -> ADMIN.topics().getStats(topic).getPublishers().size() >= 1);
        assertFalse(waiting.isDone());
        first.close();
        waiting.get(10, TimeUnit.SECONDS).send("after the wait");
        assertEquals("after the wait", receive(exclusive(topic)).getValue());
    }

    @Test
    void waitingProducersGetInOneAfterTheOther() throws Exception {
        Producer<String> first = producer(ProducerAccessMode.WaitForExclusive).create();
        CompletableFuture<Producer<String>> second = producer(ProducerAccessMode.WaitForExclusive).createAsync();
        first.close();
        second.get(10, TimeUnit.SECONDS);
        CompletableFuture<Producer<String>> third = producer(ProducerAccessMode.WaitForExclusive).createAsync();
        second.get().close();
        assertTrue(third.get(10, TimeUnit.SECONDS).isConnected());
    }

    @Test
    void fencingTakesTheTopicFromAnExclusiveProducer() throws Exception {
        Producer<String> old = producer(ProducerAccessMode.Exclusive).create();
        Producer<String> fencing = producer(ProducerAccessMode.ExclusiveWithFencing).create();
        fencing.send("mine now");
        Eventually.until("the old producer is refused", () -> refused(old));
        assertEquals("mine now", receive(exclusive(topic)).getValue());
    }

    @Test
    void fencingTakesTheTopicFromSharedProducers() throws Exception {
        newClient().newProducer(Schema.STRING).topic(topic).create();
        Producer<String> fencing = producer(ProducerAccessMode.ExclusiveWithFencing).create();
        var publishers = ADMIN.topics().getStats(topic).getPublishers();
        assertEquals(1, publishers.size());
        assertEquals(fencing.getProducerName(), publishers.get(0).getProducerName());
    }

    @Test
    void fencingFailsWhoIsWaiting() throws Exception {
        producer(ProducerAccessMode.Exclusive).create();
        CompletableFuture<Producer<String>> waiting = producer(ProducerAccessMode.WaitForExclusive).createAsync();
        producer(ProducerAccessMode.ExclusiveWithFencing).create();
        ExecutionException failure =
                assertThrows(ExecutionException.class, () -> waiting.get(10, TimeUnit.SECONDS));
        assertInstanceOf(PulsarClientException.ProducerFencedException.class, failure.getCause());
    }

    @Test
    void statsShowTheAccessMode() throws Exception {
        producer(ProducerAccessMode.Exclusive).create();
        assertEquals(ProducerAccessMode.Exclusive,
                ADMIN.topics().getStats(topic).getPublishers().get(0).getAccessMode());
    }

    private static boolean refused(Producer<String> producer) {
        try {
            producer.sendAsync("late").get(2, TimeUnit.SECONDS);
            return false;
        } catch (Exception e) {
            return e.getCause() instanceof PulsarClientException;
        }
    }
}
