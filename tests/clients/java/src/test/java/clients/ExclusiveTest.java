package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionType;
import org.junit.jupiter.api.Test;

class ExclusiveTest extends ClientTest {
    @Test
    void aSecondConsumerIsBusy() throws Exception {
        exclusive(topic);
        assertThrows(PulsarClientException.ConsumerBusyException.class, () -> exclusive(topic));
    }

    @Test
    void aSecondConsumerOfAnotherConnectionIsBusy() throws Exception {
        exclusive(topic);
        client = newClient();
        assertThrows(PulsarClientException.ConsumerBusyException.class, () -> exclusive(topic));
    }

    @Test
    void aConsumerGetsInWhenTheOtherConnectionIsGone() throws Exception {
        var other = newClient();
        other.newConsumer(Schema.STRING).topic(topic).subscriptionName("s").subscribe();
        other.shutdown();
        Eventually.until("the subscription is free", () -> exclusive(topic).isConnected());
    }

    @Test
    void theNextConsumerGoesOnWhereTheAcknowledgementsEnd() throws Exception {
        sendBatch(unbatched(topic), numbered("v", 4));
        Consumer<String> first = exclusive(topic);
        values(first, 2);
        receive(first);
        first.close();
        assertEquals(List.of("v2", "v3"), values(exclusive(topic), 2));
    }

    @Test
    void eachSubscriptionGetsEveryMessage() throws Exception {
        Consumer<String> one = subscribe(topic, "one", SubscriptionType.Exclusive).subscribe();
        Consumer<String> two = subscribe(topic, "two", SubscriptionType.Exclusive).subscribe();
        sendBatch(unbatched(topic), numbered("v", 3));
        assertEquals(values(one, 3), values(two, 3));
    }

    @Test
    void aConnectedSubscriptionKeepsItsType() throws Exception {
        exclusive(topic);
        assertThrows(PulsarClientException.ConsumerBusyException.class,
                () -> subscribe(topic, "s", SubscriptionType.Shared).subscribe());
    }

    @Test
    void anEmptySubscriptionChangesItsType() throws Exception {
        unbatched(topic).send("v");
        exclusive(topic).close();
        assertEquals(List.of("v"), values(subscribe(topic, "s", SubscriptionType.Shared).subscribe(), 1));
    }

    @Test
    void unsubscribingForgetsTheSubscription() throws Exception {
        exclusive(topic).unsubscribe();
        assertEquals(List.of(), ADMIN.topics().getSubscriptions(topic));
    }
}
