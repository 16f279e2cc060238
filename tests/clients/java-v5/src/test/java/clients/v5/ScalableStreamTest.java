package clients.v5;

import static org.junit.jupiter.api.Assertions.assertEquals;

import clients.Eventually;
import java.util.Set;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.client.api.v5.StreamConsumer;
import org.apache.pulsar.common.policies.data.ScalableSubscriptionType;
import org.junit.jupiter.api.Test;

/** Stream consumers that share the segments of a scalable topic, and requests about their subscription. */
class ScalableStreamTest extends OnScalableTopic {
    private final KeyedMessages messages = new KeyedMessages();

    private StreamConsumer<String> stream(String consumerName) throws Exception {
        return stream(client, consumerName).subscribe();
    }

    @Test
    void twoConsumersShareTheHalvesOfTheirSegments() throws Exception {
        create(2);
        StreamConsumer<String> one = stream("a");
        StreamConsumer<String> two = stream(newClient(), "b").subscribe();
        Producer<String> producer = producer();
        messages.send(producer, 64);
        messages.receiveAll(one, two);
        split(0);
        split(1);
        messages.send(producer, 64);
        messages.receiveAll(one, two);
        assertEquals(4, activeSegments());
    }

    @Test
    void aConsumerMoreThanSegmentsSplitsOne() throws Exception {
        create(1);
        Producer<String> producer = producer();
        StreamConsumer<String> one = stream("a");
        messages.send(producer, 32);
        messages.receiveAll(one);
        StreamConsumer<String> two = stream(newClient(), "b").subscribe();
        Eventually.until("there is a segment for each", () -> activeSegments() == 2);
        messages.send(producer, 64);
        messages.receiveAll(one, two);
    }

    @Test
    void theSegmentsOfAClosedConsumerGoToTheOther() throws Exception {
        create(4);
        PulsarClient other = newClient();
        handOver(stream("a"), stream(other, "b").subscribe(), other::close);
    }

    @Test
    void theSegmentsOfALostConnectionGoToTheOther() throws Exception {
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
        split(0);
        messages.send(producer, 64);
        messages.receiveAll(stays);
    }

    @Test
    void aConsumerOfADeletedSubscriptionReceivesNothingMore() throws Exception {
        create(2);
        Producer<String> producer = producer();
        StreamConsumer<String> consumer = stream("a");
        messages.send(producer, 32);
        messages.receiveAll(consumer);
        ADMIN.scalableTopics().deleteSubscription(topic, "s");
        assertEquals(Set.of(), ADMIN.scalableTopics().getStats(topic).getSubscriptions().keySet());
        messages.send(producer, 32);
        assertQuiet(consumer::receive);
    }

    @Test
    void aSeekBringsTheMessagesOfEverySegmentAgain() throws Exception {
        topic = scalable(newTopic(keepingNamespace()));
        create(1);
        Producer<String> producer = producer();
        messages.send(producer, 32);
        split(0);
        messages.send(producer, 32);
        StreamConsumer<String> consumer = stream("a");
        messages.receiveAll(consumer);
        Eventually.until("nothing is left", () -> backlog("s") == 0);
        ADMIN.scalableTopics().seekSubscription(topic, "s", 0);
        KeyedMessages again = new KeyedMessages();
        again.expect(64);
        again.receiveAll(consumer);
    }

    @Test
    void aClearedBacklogDoesNotCome() throws Exception {
        create(1);
        ADMIN.scalableTopics().createSubscription(topic, "s", ScalableSubscriptionType.STREAM);
        Producer<String> producer = producer();
        messages.send(producer, 32);
        split(0);
        messages.send(producer, 32);
        assertEquals(64, backlog("s"));
        ADMIN.scalableTopics().clearBacklog(topic, "s");
        assertEquals(0, backlog("s"));
        StreamConsumer<String> consumer = stream("a");
        assertQuiet(consumer::receive);
        producer.newMessage().key("k").value("new").send();
        assertEquals("new", next(consumer::receive).value());
    }
}
