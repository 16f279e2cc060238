package clients;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Int64Value;
import com.google.protobuf.StringValue;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.pulsar.client.admin.PulsarAdminException;
import org.apache.pulsar.client.api.PulsarClientException.IncompatibleSchemaException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.schema.SchemaDefinition;
import org.apache.pulsar.common.policies.data.SchemaCompatibilityStrategy;
import org.apache.pulsar.common.schema.KeyValueEncodingType;
import org.apache.pulsar.common.schema.SchemaInfo;
import org.apache.pulsar.common.schema.SchemaType;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class SchemaCompatibilityTest extends ClientTest {
    private static final String A = "{\"name\":\"a\",\"type\":\"int\"}";
    private static final String B_OPTIONAL = "{\"name\":\"b\",\"type\":\"int\",\"default\":0}";
    private static final String B_REQUIRED = "{\"name\":\"b\",\"type\":\"int\"}";
    /** A change of schema, and the strategies that allow it (beside ALWAYS_COMPATIBLE). */
    private static final Map<String, Change> CHANGES = Map.of(
            "an optional field more", new Change(record(A), record(A, B_OPTIONAL), true, true),
            "an optional field less", new Change(record(A, B_OPTIONAL), record(A), true, true),
            "a required field more", new Change(record(A), record(A, B_REQUIRED), false, true),
            "a required field less", new Change(record(A, B_REQUIRED), record(A), true, false),
            "a wider number", new Change(record(A), record(A.replace("int", "long")), true, false),
            "another kind", new Change(record(A), record(A.replace("int", "string")), false, false));

    private String namespace;

    @BeforeEach
    void createNamespace() throws Exception {
        namespace = newNamespace();
        topic = newTopic(namespace);
    }

    private record Change(String from, String to, boolean backward, boolean forward) {
        boolean allowedBy(SchemaCompatibilityStrategy strategy) {
            return switch (strategy) {
                case ALWAYS_COMPATIBLE -> true;
                case BACKWARD, BACKWARD_TRANSITIVE -> backward;
                case FORWARD, FORWARD_TRANSITIVE -> forward;
                case FULL, FULL_TRANSITIVE -> backward && forward;
                default -> false;
            };
        }
    }

    private static String record(String... fields) {
        return "{\"type\":\"record\",\"name\":\"R\",\"fields\":[" + String.join(",", fields) + "]}";
    }

    private static Schema<?> avro(String definition) {
        return Schema.AVRO(SchemaDefinition.builder().withJsonDef(definition).build());
    }

    private static Schema<?> json(String definition) {
        return Schema.getSchema(SchemaInfo.builder().name("").type(SchemaType.JSON).properties(Map.of())
                .schema(definition.getBytes()).build());
    }

    private void produceWith(Schema<?> schema) throws Exception {
        client.newProducer(schema).topic(topic).create().close();
    }

    private void consumeWith(Schema<?> schema) throws Exception {
        client.newConsumer(schema).topic(topic).subscriptionName("s").subscribe().close();
    }

    private void use(SchemaCompatibilityStrategy strategy) throws Exception {
        ADMIN.namespaces().setSchemaCompatibilityStrategy(namespace, strategy);
        Eventually.until("the strategy holds",
                () -> ADMIN.namespaces().getSchemaCompatibilityStrategy(namespace) == strategy);
    }

    static Stream<Arguments> strategiesAndChanges() {
        return Stream.of(SchemaCompatibilityStrategy.values())
                .filter(strategy -> strategy != SchemaCompatibilityStrategy.UNDEFINED)
                .flatMap(strategy -> CHANGES.keySet().stream().sorted().map(name -> Arguments.of(strategy, name)));
    }

    @ParameterizedTest
    @MethodSource("strategiesAndChanges")
    void aStrategyAllowsAChangeOrRefusesIt(SchemaCompatibilityStrategy strategy, String name) throws Exception {
        Change change = CHANGES.get(name);
        use(strategy);
        produceWith(avro(change.from));
        if (change.allowedBy(strategy)) {
            produceWith(avro(change.to));
            assertEquals(2, ADMIN.schemas().getAllSchemas(topic).size());
        } else {
            assertThrows(IncompatibleSchemaException.class, () -> produceWith(avro(change.to)));
        }
    }

    @Test
    void theDefaultIsFull() throws Exception {
        produceWith(avro(record(A)));
        assertThrows(IncompatibleSchemaException.class, () -> produceWith(avro(record(A, B_REQUIRED))));
        produceWith(avro(record(A, B_OPTIONAL)));
    }

    @Test
    void aTransitiveStrategyLooksAtEveryVersion() throws Exception {
        use(SchemaCompatibilityStrategy.BACKWARD);
        produceWith(avro(record(A, B_REQUIRED)));
        produceWith(avro(record(A)));
        use(SchemaCompatibilityStrategy.BACKWARD_TRANSITIVE);
        String text = "{\"name\":\"b\",\"type\":\"string\",\"default\":\"\"}";
        assertThrows(IncompatibleSchemaException.class, () -> produceWith(avro(record(A, text))));
    }

    @Test
    void jsonFollowsTheSameRules() throws Exception {
        produceWith(json(record(A)));
        assertThrows(IncompatibleSchemaException.class, () -> produceWith(json(record(A, B_REQUIRED))));
        produceWith(json(record(A, B_OPTIONAL)));
    }

    @Test
    void anotherTypeIsRefused() throws Exception {
        produceWith(Schema.STRING);
        assertThrows(IncompatibleSchemaException.class, () -> produceWith(Schema.INT32));
    }

    @Test
    void anotherNativeProtobufMessageIsRefused() throws Exception {
        produceWith(Schema.PROTOBUF_NATIVE(StringValue.class));
        assertThrows(IncompatibleSchemaException.class,
                () -> produceWith(Schema.PROTOBUF_NATIVE(Int64Value.class)));
    }

    @Test
    void theValueOfAPairIsChecked() throws Exception {
        Schema<?> first = Schema.KeyValue(Schema.STRING, avro(record(A)), KeyValueEncodingType.INLINE);
        Schema<?> second = Schema.KeyValue(Schema.STRING, avro(record(A, B_REQUIRED)), KeyValueEncodingType.INLINE);
        produceWith(first);
        assertThrows(IncompatibleSchemaException.class, () -> produceWith(second));
    }

    @Test
    void anIncompatibleConsumerIsRefused() throws Exception {
        produceWith(avro(record(A)));
        assertThrows(IncompatibleSchemaException.class, () -> consumeWith(avro(record(A, B_REQUIRED))));
    }

    @Test
    void aConsumersSchemaIsTheFirstOfANewTopic() throws Exception {
        consumeWith(avro(record(A)));
        assertEquals(1, ADMIN.schemas().getAllSchemas(topic).size());
    }

    @Test
    void aSchemaIsRefusedWhereBytesAreInUse() throws Exception {
        client.newProducer().topic(topic).create().send(new byte[1]);
        assertThrows(IncompatibleSchemaException.class, () -> consumeWith(avro(record(A))));
    }

    @Test
    void aNamespaceMayForbidNewVersions() throws Exception {
        produceWith(avro(record(A)));
        ADMIN.namespaces().setIsAllowAutoUpdateSchema(namespace, false);
        Eventually.until("a new version is refused", () -> {
            assertThrows(IncompatibleSchemaException.class, () -> produceWith(avro(record(A, B_OPTIONAL))));
            return true;
        });
        assertDoesNotThrow(() -> produceWith(avro(record(A))));
    }

    @Test
    void whereValidationIsEnforcedAProducerNeedsASchema() throws Exception {
        ADMIN.namespaces().setSchemaValidationEnforced(namespace, true);
        produceWith(avro(record(A)));
        assertThrows(IncompatibleSchemaException.class, () -> client.newProducer().topic(topic).create());
    }

    @Test
    void whereItIsNotEnforcedAProducerMaySendBytes() throws Exception {
        produceWith(avro(record(A)));
        client.newProducer().topic(topic).create().send(new byte[] {2});
        assertEquals(Set.of(0L), Set.of(ADMIN.schemas().getSchemaInfoWithVersion(topic).getVersion()));
    }

    @Test
    void theAdminTellsWhetherASchemaWouldFit() throws Exception {
        produceWith(avro(record(A)));
        assertTrue(fits(avro(record(A, B_OPTIONAL))));
        assertFalse(fits(avro(record(A, B_REQUIRED))));
    }

    /** A released broker says no with an internal error that names the difference. */
    private boolean fits(Schema<?> schema) throws PulsarAdminException {
        try {
            return ADMIN.schemas().testCompatibility(topic, schema.getSchemaInfo()).isCompatibility();
        } catch (PulsarAdminException.ServerSideErrorException e) {
            return false;
        }
    }
}
