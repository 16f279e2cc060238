package clients;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.ByteBuffer;
import java.util.List;
import org.apache.pulsar.client.admin.PulsarAdminException;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.schema.Field;
import org.apache.pulsar.client.api.schema.GenericRecord;
import org.apache.pulsar.client.api.schema.SchemaDefinition;
import org.junit.jupiter.api.Test;

class SchemaVersionsTest extends ClientTest {
    private static <T> Schema<T> schema(Class<T> type) {
        return Schema.AVRO(SchemaDefinition.<T>builder().withPojo(type).withAlwaysAllowNull(true).build());
    }

    private void sendFirst() throws Exception {
        First value = new First();
        value.a = "first";
        client.newProducer(schema(First.class)).topic(topic).create().send(value);
    }

    private void sendSecond() throws Exception {
        Second value = new Second();
        value.a = "second";
        value.b = "more";
        client.newProducer(schema(Second.class)).topic(topic).create().send(value);
    }

    private <T> Consumer<T> consumer(Schema<T> schema) throws Exception {
        return client.newConsumer(schema).topic(topic).subscriptionName("s")
                .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest).subscribe();
    }

    @Test
    void eachChangeIsAVersion() throws Exception {
        sendFirst();
        assertEquals(0L, ADMIN.schemas().getSchemaInfoWithVersion(topic).getVersion());
        sendSecond();
        assertEquals(1L, ADMIN.schemas().getSchemaInfoWithVersion(topic).getVersion());
        assertEquals(2, ADMIN.schemas().getAllSchemas(topic).size());
    }

    @Test
    void theSameSchemaIsTheSameVersion() throws Exception {
        sendFirst();
        sendSecond();
        sendFirst();
        assertEquals(2, ADMIN.schemas().getAllSchemas(topic).size());
    }

    @Test
    void aMessageCarriesItsVersion() throws Exception {
        sendFirst();
        sendSecond();
        Consumer<GenericRecord> consumer = consumer(Schema.AUTO_CONSUME());
        for (long version = 0; version < 2; version++) {
            assertArrayEquals(ByteBuffer.allocate(8).putLong(version).array(),
                    receive(consumer).getSchemaVersion());
        }
    }

    @Test
    void anAutoConsumerDecodesByVersion() throws Exception {
        sendFirst();
        sendSecond();
        Consumer<GenericRecord> consumer = consumer(Schema.AUTO_CONSUME());
        assertEquals(List.of("a"), receive(consumer).getValue().getFields().stream().map(Field::getName).toList());
        GenericRecord second = receive(consumer).getValue();
        assertEquals(List.of("a", "b"), second.getFields().stream().map(Field::getName).toList());
        assertEquals("more", second.getField("b").toString());
    }

    @Test
    void aNewReaderDecodesOldMessages() throws Exception {
        sendFirst();
        sendSecond();
        Consumer<Second> consumer = consumer(schema(Second.class));
        Second old = receive(consumer).getValue();
        assertEquals("first", old.a);
        assertEquals(null, old.b);
        assertEquals("more", receive(consumer).getValue().b);
    }

    @Test
    void anOldReaderDecodesNewMessages() throws Exception {
        sendFirst();
        sendSecond();
        Consumer<First> consumer = consumer(schema(First.class));
        assertEquals("first", receive(consumer).getValue().a);
        assertEquals("second", receive(consumer).getValue().a);
    }

    @Test
    void oneProducerMaySendSeveralVersions() throws Exception {
        Producer<First> producer = client.newProducer(schema(First.class)).topic(topic).create();
        First first = new First();
        first.a = "first";
        producer.send(first);
        Second second = new Second();
        second.a = "second";
        second.b = "more";
        producer.newMessage(schema(Second.class)).value(second).send();
        Consumer<GenericRecord> consumer = consumer(Schema.AUTO_CONSUME());
        assertEquals("first", receive(consumer).getValue().getField("a").toString());
        assertEquals("more", receive(consumer).getValue().getField("b").toString());
        assertEquals(2, ADMIN.schemas().getAllSchemas(topic).size());
    }

    @Test
    void theVersionsSurviveAnUnload() throws Exception {
        sendFirst();
        sendSecond();
        ADMIN.topics().unload(topic);
        Message<GenericRecord> message = receive(consumer(Schema.AUTO_CONSUME()));
        assertEquals("first", message.getValue().getField("a").toString());
    }

    @Test
    void thePartitionsOfATopicShareItsSchema() throws Exception {
        ADMIN.topics().createPartitionedTopic(topic, 3);
        sendFirst();
        sendSecond();
        assertEquals(2, ADMIN.schemas().getAllSchemas(topic).size());
    }

    @Test
    void anAdminReadsAnOldVersion() throws Exception {
        sendFirst();
        sendSecond();
        assertEquals(schema(First.class).getSchemaInfo().getSchemaDefinition(),
                ADMIN.schemas().getSchemaInfo(topic, 0).getSchemaDefinition());
    }

    @Test
    void anAdminMayPutASchemaFirst() throws Exception {
        ADMIN.topics().createNonPartitionedTopic(topic);
        ADMIN.schemas().createSchema(topic, schema(First.class).getSchemaInfo());
        sendFirst();
        assertEquals(1, ADMIN.schemas().getAllSchemas(topic).size());
    }

    @Test
    void aDeletedSchemaIsGone() throws Exception {
        sendFirst();
        ADMIN.schemas().deleteSchema(topic);
        assertThrows(PulsarAdminException.NotFoundException.class, () -> ADMIN.schemas().getSchemaInfo(topic));
    }

    static class First {
        public String a;
    }

    static class Second {
        public String a;
        public String b;
    }
}
