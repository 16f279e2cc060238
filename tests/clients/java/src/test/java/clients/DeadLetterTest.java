package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.ConsumerBuilder;
import org.apache.pulsar.client.api.DeadLetterPolicy;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.SubscriptionType;
import org.junit.jupiter.api.Test;

class DeadLetterTest extends ClientTest {
    private ConsumerBuilder<String> consumer(DeadLetterPolicy policy, SubscriptionType type) {
        return subscribe(topic, "s", type).negativeAckRedeliveryDelay(50, TimeUnit.MILLISECONDS)
                .deadLetterPolicy(policy);
    }

    private static void refuse(Consumer<String> consumer, int times) throws Exception {
        for (int i = 0; i < times; i++) {
            consumer.negativeAcknowledge(receive(consumer));
        }
    }

    @Test
    void afterTooManyRefusalsAMessageGoesToTheDeadLetterTopic() throws Exception {
        var message = unbatched(topic).newMessage().key("k").property("p", "1").value("poison").send();
        Consumer<String> dead = exclusive(topic + "-s-DLQ");
        Consumer<String> consumer = consumer(DeadLetterPolicy.builder().maxRedeliverCount(2).build(),
                SubscriptionType.Shared).subscribe();
        refuse(consumer, 3);
        Message<String> letter = receive(dead);
        assertEquals("poison", letter.getValue());
        assertEquals("k", letter.getKey());
        assertEquals("1", letter.getProperty("p"));
        assertEquals(topic, letter.getProperty("REAL_TOPIC"));
        assertEquals(message.toString(), letter.getProperty("ORIGIN_MESSAGE_ID"));
        assertQuiet(consumer);
    }

    @Test
    void theDeadLetterTopicMayHaveAnotherName() throws Exception {
        unbatched(topic).send("poison");
        String letters = newTopic();
        Consumer<String> consumer = consumer(DeadLetterPolicy.builder().maxRedeliverCount(1).deadLetterTopic(letters)
                .build(), SubscriptionType.Shared).subscribe();
        Consumer<String> dead = exclusive(letters);
        refuse(consumer, 2);
        assertEquals("poison", receive(dead).getValue());
    }

    @Test
    void anInitialSubscriptionKeepsTheLettersForLater() throws Exception {
        unbatched(topic).send("poison");
        Consumer<String> consumer = consumer(DeadLetterPolicy.builder().maxRedeliverCount(1)
                .initialSubscriptionName("undertaker").build(), SubscriptionType.Shared).subscribe();
        refuse(consumer, 2);
        Eventually.until("the letter waits", () -> ADMIN.topics().getStats(topic + "-s-DLQ").getSubscriptions()
                .get("undertaker").getMsgBacklog() == 1);
        assertEquals(List.of("poison"), values(
                subscribe(topic + "-s-DLQ", "undertaker", SubscriptionType.Shared).subscribe(), 1));
    }

    @Test
    void keySharedHasDeadLettersToo() throws Exception {
        unbatched(topic).newMessage().key("k").value("poison").send();
        Consumer<String> dead = exclusive(topic + "-s-DLQ");
        refuse(consumer(DeadLetterPolicy.builder().maxRedeliverCount(1).build(), SubscriptionType.Key_Shared)
                .subscribe(), 2);
        assertEquals("poison", receive(dead).getValue());
    }

    @Test
    void onlyThePoisonOfABatchGoes() throws Exception {
        sendBatch(batched(topic), "good", "poison", "good too");
        Consumer<String> dead = exclusive(topic + "-s-DLQ");
        Consumer<String> consumer = consumer(DeadLetterPolicy.builder().maxRedeliverCount(1).build(),
                SubscriptionType.Shared).enableBatchIndexAcknowledgment(true)
                .acknowledgmentGroupTime(0, TimeUnit.MILLISECONDS).subscribe();
        for (int refused = 0; refused < 2;) {
            Message<String> message = receive(consumer);
            if (message.getValue().equals("poison")) {
                consumer.negativeAcknowledge(message);
                refused++;
            } else {
                consumer.acknowledge(message);
            }
        }
        assertEquals("poison", receive(dead).getValue());
        assertQuiet(dead);
        Eventually.until("nothing is left",
                () -> ADMIN.topics().getStats(topic).getSubscriptions().get("s").getMsgBacklog() == 0);
    }

    @Test
    void theOriginalOfALetterIsAcknowledged() throws Exception {
        unbatched(topic).send("poison");
        refuse(consumer(DeadLetterPolicy.builder().maxRedeliverCount(1).build(), SubscriptionType.Shared).subscribe(),
                2);
        Eventually.until("no backlog",
                () -> ADMIN.topics().getStats(topic).getSubscriptions().get("s").getMsgBacklog() == 0);
    }
}
