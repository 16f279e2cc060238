package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.junit.jupiter.api.Test;

class ProducerNamesTest extends ClientTest {
    private Producer<String> named(String name) throws PulsarClientException {
        return client.newProducer(Schema.STRING).topic(topic).producerName(name).create();
    }

    @Test
    void theBrokerMakesUpDifferentNames() throws Exception {
        String first = unbatched(topic).getProducerName();
        String second = unbatched(topic).getProducerName();
        assertFalse(first.isEmpty());
        assertNotEquals(first, second);
    }

    @Test
    void aGivenNameIsKeptAndTravelsWithTheMessage() throws Exception {
        named("writer").send("v");
        assertEquals("writer", receive(exclusive(topic)).getProducerName());
    }

    @Test
    void aNameInUseIsBusy() throws Exception {
        named("writer");
        assertThrows(PulsarClientException.ProducerBusyException.class, () -> named("writer"));
    }

    @Test
    void aNameInUseOnAnotherConnectionIsBusy() throws Exception {
        named("writer");
        assertThrows(PulsarClientException.ProducerBusyException.class, () -> newClient()
                .newProducer(Schema.STRING).topic(topic).producerName("writer").create());
    }

    @Test
    void aNameIsFreeWhenItsProducerHasClosed() throws Exception {
        named("writer").close();
        assertEquals("writer", named("writer").getProducerName());
    }

    @Test
    void aNameIsFreeWhenItsConnectionIsGone() throws Exception {
        var other = newClient();
        other.newProducer(Schema.STRING).topic(topic).producerName("writer").create();
        other.shutdown();
        Eventually.until("the name is free", () -> named("writer").isConnected());
    }

    @Test
    void anUnloadedTopicGetsItsProducerBackUnderItsName() throws Exception {
        Producer<String> producer = unbatched(topic);
        String name = producer.getProducerName();
        ADMIN.topics().unload(topic);
        producer.send("after the unload");
        assertEquals(name, receive(exclusive(topic)).getProducerName());
    }
}
