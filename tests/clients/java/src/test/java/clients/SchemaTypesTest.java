package clients;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.protobuf.StringValue;
import java.sql.Time;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.Date;
import java.util.stream.Stream;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SchemaSerializationException;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.schema.GenericRecord;
import org.apache.pulsar.common.schema.KeyValue;
import org.apache.pulsar.common.schema.KeyValueEncodingType;
import org.apache.pulsar.common.schema.SchemaType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

class SchemaTypesTest extends ClientTest {
    private static final Person ADA = new Person("Ada", 36);

    private <T> void send(Schema<T> schema, T value) throws PulsarClientException {
        client.newProducer(schema).topic(topic).create().send(value);
    }

    private <T> Consumer<T> consumer(Schema<T> schema) throws PulsarClientException {
        return client.newConsumer(schema).topic(topic).subscriptionName("s")
                .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest).subscribe();
    }

    private SchemaType registered() throws Exception {
        return ADMIN.schemas().getSchemaInfo(topic).getType();
    }

    static Stream<Arguments> primitives() {
        return Stream.of(
                Arguments.of(Schema.STRING, "text"), Arguments.of(Schema.BOOL, true),
                Arguments.of(Schema.INT8, (byte) -8), Arguments.of(Schema.INT16, (short) -16),
                Arguments.of(Schema.INT32, -32), Arguments.of(Schema.INT64, -64L),
                Arguments.of(Schema.FLOAT, 1.5f), Arguments.of(Schema.DOUBLE, -2.25),
                Arguments.of(Schema.DATE, new Date(1_700_000_000_000L)), Arguments.of(Schema.TIME, new Time(7_000L)),
                Arguments.of(Schema.TIMESTAMP, new Timestamp(1_700_000_000_000L)),
                Arguments.of(Schema.INSTANT, Instant.ofEpochSecond(1_700_000_000L, 5)),
                Arguments.of(Schema.LOCAL_DATE, LocalDate.of(2024, 2, 29)),
                Arguments.of(Schema.LOCAL_TIME, LocalTime.of(23, 59, 1)),
                Arguments.of(Schema.LOCAL_DATE_TIME, LocalDateTime.of(2024, 2, 29, 23, 59)));
    }

    @ParameterizedTest
    @MethodSource("primitives")
    <T> void aPrimitiveIsRegisteredAndComesBack(Schema<T> schema, T value) throws Exception {
        send(schema, value);
        assertEquals(schema.getSchemaInfo().getType(), registered());
        assertEquals(value, receive(consumer(schema)).getValue());
    }

    @Test
    void bytesAreNoSchema() throws Exception {
        send(Schema.BYTES, new byte[] {1, 2});
        assertArrayEquals(new byte[] {1, 2}, receive(consumer(Schema.BYTES)).getValue());
        assertThrows(org.apache.pulsar.client.admin.PulsarAdminException.NotFoundException.class, this::registered);
    }

    @Test
    void anAvroRecordComesBack() throws Exception {
        send(Schema.AVRO(Person.class), ADA);
        assertEquals(SchemaType.AVRO, registered());
        assertEquals(ADA, receive(consumer(Schema.AVRO(Person.class))).getValue());
    }

    @Test
    void aJsonObjectComesBack() throws Exception {
        send(Schema.JSON(Person.class), ADA);
        assertEquals(SchemaType.JSON, registered());
        assertEquals(ADA, receive(consumer(Schema.JSON(Person.class))).getValue());
    }

    @Test
    void aProtobufMessageComesBack() throws Exception {
        send(Schema.PROTOBUF(StringValue.class), StringValue.of("v"));
        assertEquals(SchemaType.PROTOBUF, registered());
        assertEquals(StringValue.of("v"), receive(consumer(Schema.PROTOBUF(StringValue.class))).getValue());
    }

    @Test
    void aNativeProtobufMessageComesBack() throws Exception {
        send(Schema.PROTOBUF_NATIVE(StringValue.class), StringValue.of("v"));
        assertEquals(SchemaType.PROTOBUF_NATIVE, registered());
        assertEquals(StringValue.of("v"), receive(consumer(Schema.PROTOBUF_NATIVE(StringValue.class))).getValue());
    }

    @ParameterizedTest
    @EnumSource(KeyValueEncodingType.class)
    void aKeyAndItsValueComeBack(KeyValueEncodingType encoding) throws Exception {
        Schema<KeyValue<String, Person>> schema = Schema.KeyValue(Schema.STRING, Schema.AVRO(Person.class), encoding);
        send(schema, new KeyValue<>("k", ADA));
        assertEquals(SchemaType.KEY_VALUE, registered());
        Message<KeyValue<String, Person>> message = receive(consumer(schema));
        assertEquals(new KeyValue<>("k", ADA), message.getValue());
        assertEquals(encoding == KeyValueEncodingType.SEPARATED, message.hasKey());
    }

    static Stream<Schema<Person>> records() {
        return Stream.of(Schema.AVRO(Person.class), Schema.JSON(Person.class));
    }

    @ParameterizedTest
    @MethodSource("records")
    void anAutoConsumerFindsTheFields(Schema<Person> schema) throws Exception {
        send(schema, ADA);
        GenericRecord record = receive(consumer(Schema.AUTO_CONSUME())).getValue();
        assertEquals("Ada", record.getField("name").toString());
        assertEquals(36, record.getField("age"));
        assertEquals(schema.getSchemaInfo().getType(), record.getSchemaType());
    }

    @Test
    void anAutoConsumerReadsNativeProtobuf() throws Exception {
        send(Schema.PROTOBUF_NATIVE(StringValue.class), StringValue.of("v"));
        assertEquals("v", receive(consumer(Schema.AUTO_CONSUME())).getValue().getField("value"));
    }

    @ParameterizedTest
    @EnumSource(KeyValueEncodingType.class)
    void anAutoConsumerReadsKeysAndValues(KeyValueEncodingType encoding) throws Exception {
        send(Schema.KeyValue(Schema.STRING, Schema.AVRO(Person.class), encoding), new KeyValue<>("k", ADA));
        Object pair = receive(consumer(Schema.AUTO_CONSUME())).getValue().getNativeObject();
        KeyValue<?, ?> keyValue = (KeyValue<?, ?>) pair;
        assertEquals("k", keyValue.getKey());
        assertEquals("Ada", ((GenericRecord) keyValue.getValue()).getField("name").toString());
    }

    @Test
    void anAutoConsumerReadsPrimitives() throws Exception {
        send(Schema.INT32, 7);
        assertEquals(7, receive(consumer(Schema.AUTO_CONSUME())).getValue().getNativeObject());
    }

    @Test
    void anAutoProducerSendsWhatFitsTheTopicsSchema() throws Exception {
        send(Schema.AVRO(Person.class), ADA);
        byte[] encoded = Schema.AVRO(Person.class).encode(new Person("Grace", 85));
        client.newProducer(Schema.AUTO_PRODUCE_BYTES()).topic(topic).create().send(encoded);
        Consumer<Person> consumer = consumer(Schema.AVRO(Person.class));
        assertEquals("Ada", receive(consumer).getValue().name);
        assertEquals("Grace", receive(consumer).getValue().name);
    }

    @Test
    void anAutoProducerRefusesWhatDoesNotFit() throws Exception {
        send(Schema.INT32, 7);
        var producer = client.newProducer(Schema.AUTO_PRODUCE_BYTES()).topic(topic).create();
        assertThrows(SchemaSerializationException.class, () -> producer.send("not four bytes".getBytes()));
    }

    /** The record most tests of schemas send. */
    static class Person {
        public String name;
        public int age;

        Person() {}

        Person(String name, int age) {
            this.name = name;
            this.age = age;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Person that && name.equals(that.name) && age == that.age;
        }

        @Override
        public int hashCode() {
            return name.hashCode() * 31 + age;
        }

        @Override
        public String toString() {
            return name + " (" + age + ")";
        }
    }
}
