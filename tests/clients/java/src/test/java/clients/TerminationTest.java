package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.MessageListener;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.SubscriptionType;
import org.junit.jupiter.api.Test;

class TerminationTest extends ClientTest {
    @Test
    void theLastIdIsTheAnswer() throws Exception {
        Producer<String> producer = unbatched(topic);
        producer.send("a");
        MessageId last = producer.send("b");
        assertEquals(last, ADMIN.topics().terminateTopic(topic));
    }

    @Test
    void aConsumerReadsToTheEndAndIsTold() throws Exception {
        sendBatch(unbatched(topic), "a", "b");
        Consumer<String> consumer = exclusive(topic);
        assertFalse(consumer.hasReachedEndOfTopic());
        ADMIN.topics().terminateTopic(topic);
        assertEquals(List.of("a", "b"), values(consumer, 2));
        Eventually.until("the end is reached", consumer::hasReachedEndOfTopic);
    }

    @Test
    void aConsumerThatComesLaterIsToldToo() throws Exception {
        unbatched(topic).send("a");
        ADMIN.topics().terminateTopic(topic);
        Consumer<String> consumer = exclusive(topic);
        values(consumer, 1);
        Eventually.until("the end is reached", consumer::hasReachedEndOfTopic);
    }

    @Test
    void aListenerIsCalled() throws Exception {
        CompletableFuture<Boolean> end = new CompletableFuture<>();
        subscribe(topic, "s", SubscriptionType.Exclusive).messageListener(new MessageListener<String>() {
            @Override
            public void received(Consumer<String> consumer, Message<String> message) {
                consumer.acknowledgeAsync(message);
            }

            @Override
            public void reachedEndOfTopic(Consumer<String> consumer) {
                end.complete(true);
            }
        }).subscribe();
        unbatched(topic).send("a");
        ADMIN.topics().terminateTopic(topic);
        assertTrue(end.get(15, TimeUnit.SECONDS));
    }

    @Test
    void aConnectedProducerIsRefused() throws Exception {
        Producer<String> producer = unbatched(topic);
        producer.send("a");
        ADMIN.topics().terminateTopic(topic);
        assertThrows(PulsarClientException.TopicTerminatedException.class, () -> producer.send("late"));
    }

    @Test
    void aNewProducerIsRefused() throws Exception {
        unbatched(topic).close();
        ADMIN.topics().terminateTopic(topic);
        assertThrows(PulsarClientException.TopicTerminatedException.class, () -> unbatched(topic));
    }

    @Test
    void itSurvivesAnUnload() throws Exception {
        unbatched(topic).close();
        ADMIN.topics().terminateTopic(topic);
        ADMIN.topics().unload(topic);
        assertThrows(PulsarClientException.TopicTerminatedException.class, () -> unbatched(topic));
    }
}
