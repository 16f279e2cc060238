package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.SubscriptionType;
import org.junit.jupiter.api.Test;

class SharedTest extends ClientTest {
    private Consumer<String> consumer(int queue, int priority) throws Exception {
        return subscribe(topic, "s", SubscriptionType.Shared).receiverQueueSize(queue).priorityLevel(priority)
                .subscribe();
    }

    @Test
    void consumersShareTheMessages() throws Exception {
        Consumer<String> one = consumer(10, 0);
        Consumer<String> two = consumer(10, 0);
        sendBatch(unbatched(topic), numbered("v", 20));
        TreeSet<String> all = new TreeSet<>(values(one, 10));
        all.addAll(values(two, 10));
        assertEquals(new TreeSet<>(List.of(numbered("v", 20))), all);
    }

    @Test
    void theHigherPriorityIsServedWhileItHasRoom() throws Exception {
        Consumer<String> low = consumer(100, 1);
        Consumer<String> high = consumer(100, 0);
        sendBatch(unbatched(topic), numbered("v", 50));
        assertEquals(50, values(high, 50).size());
        assertQuiet(low);
    }

    @Test
    void theLowerPriorityGetsWhatTheHigherHasNoRoomFor() throws Exception {
        consumer(10, 0);
        Consumer<String> low = consumer(100, 1);
        sendBatch(unbatched(topic), numbered("v", 50));
        assertEquals(40, values(low, 40).size());
        assertQuiet(low);
    }

    @Test
    void whatAClosedConsumerDidNotAcknowledgeGoesToTheOther() throws Exception {
        Consumer<String> one = consumer(100, 0);
        sendBatch(unbatched(topic), numbered("v", 10));
        receive(one);
        Consumer<String> two = consumer(100, 0);
        one.close();
        assertEquals(Set.of(numbered("v", 10)), Set.copyOf(values(two, 10)));
    }

    @Test
    void aRedeliveredMessageSaysHowOften() throws Exception {
        unbatched(topic).send("v");
        Consumer<String> consumer = consumer(10, 0);
        for (int count = 0; count < 3; count++) {
            Message<String> message = receive(consumer);
            assertEquals(count, message.getRedeliveryCount());
            consumer.redeliverUnacknowledgedMessages();
        }
    }

    @Test
    void theUnackedLimitBlocksAConsumerUntilItAcknowledges() throws Exception {
        String namespace = newNamespace();
        ADMIN.namespaces().setMaxUnackedMessagesPerConsumer(namespace, 10);
        topic = newTopic(namespace);
        Consumer<String> consumer = consumer(1, 0);
        sendBatch(unbatched(topic), numbered("v", 30));
        List<Message<String>> held = new ArrayList<>();
        Message<String> message;
        while ((message = consumer.receive(500, java.util.concurrent.TimeUnit.MILLISECONDS)) != null) {
            held.add(message);
        }
        assertTrue(held.size() >= 10 && held.size() < 15, held.size() + " were delivered");
        assertTrue(ADMIN.topics().getStats(topic).getSubscriptions().get("s").getConsumers().get(0)
                .isBlockedConsumerOnUnackedMsgs());
        for (Message<String> each : held) {
            consumer.acknowledge(each);
        }
        assertEquals(30 - held.size(), values(consumer, 30 - held.size()).size());
    }
}
