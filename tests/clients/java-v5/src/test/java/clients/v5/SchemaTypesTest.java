package clients.v5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.PulsarClientException;
import org.apache.pulsar.client.api.v5.QueueConsumer;
import org.apache.pulsar.client.api.v5.config.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.v5.schema.Schema;
import org.apache.pulsar.common.schema.SchemaType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SchemaTypesTest extends V5Test {
    public static class Order {
        public String item;
        public int count;

        static Order of(String item, int count) {
            Order order = new Order();
            order.item = item;
            order.count = count;
            return order;
        }
    }

    private <T> QueueConsumer<T> queue(Schema<T> schema) throws PulsarClientException {
        return client.newQueueConsumer(schema).topic(topic).subscriptionName("q")
                .subscriptionInitialPosition(SubscriptionInitialPosition.EARLIEST).subscribe();
    }

    private <T> void send(Schema<T> schema, T value) throws PulsarClientException {
        try (Producer<T> producer = client.newProducer(schema).topic(topic).create()) {
            producer.newMessage().value(value).send();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void theTopicGetsTheSchema(int partitions) throws Exception {
        create(partitions);
        send(Schema.string(), "v");
        assertEquals(SchemaType.STRING, ADMIN.schemas().getSchemaInfo(topic).getType());
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void anOldConsumerReadsTheJsonOfANewProducer(int partitions) throws Exception {
        create(partitions);
        send(Schema.json(Order.class), Order.of("tea", 2));
        assertEquals(SchemaType.JSON, ADMIN.schemas().getSchemaInfo(topic).getType());
        var consumer = oldClient().newConsumer(org.apache.pulsar.client.api.Schema.JSON(Order.class)).topic(topic)
                .subscriptionName("s").subscriptionInitialPosition(
                        org.apache.pulsar.client.api.SubscriptionInitialPosition.Earliest).subscribe();
        assertEquals("tea", consumer.receive(15, TimeUnit.SECONDS).getValue().item);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void aNewConsumerReadsTheJsonOfAnOldProducer(int partitions) throws Exception {
        create(partitions);
        oldClient().newProducer(org.apache.pulsar.client.api.Schema.JSON(Order.class)).topic(topic).create()
                .send(Order.of("tea", 2));
        assertEquals(2, next(queue(Schema.json(Order.class))::receive).value().count);
    }

    @Test
    void avroWorksToo() throws Exception {
        create(2);
        send(Schema.avro(Order.class), Order.of("tea", 2));
        assertEquals("tea", next(queue(Schema.avro(Order.class))::receive).value().item);
    }

    @Test
    void anIncompatibleSchemaIsRefused() throws Exception {
        create(2);
        send(Schema.json(Order.class), Order.of("tea", 2));
        assertThrows(PulsarClientException.class, () -> send(Schema.int32(), 7));
        assertThrows(PulsarClientException.class, () -> queue(Schema.int32()));
    }
}
