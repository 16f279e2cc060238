package clients;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.pulsar.client.api.CompressionType;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.common.api.EncryptionContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class PublishingTest extends ClientTest {
    @Test
    void aMessageArrivesWithAllThatWasSaidAboutIt() throws Exception {
        unbatched(topic).newMessage().value("v").key("k").orderingKey(new byte[] {1, 2}).property("p", "1")
                .eventTime(7).send();
        Message<String> message = receive(exclusive(topic));
        assertEquals("v", message.getValue());
        assertEquals("k", message.getKey());
        assertArrayEquals(new byte[] {1, 2}, message.getOrderingKey());
        assertEquals(Map.of("p", "1"), message.getProperties());
        assertEquals(7, message.getEventTime());
        assertEquals(topic, message.getTopicName());
    }

    @Test
    void aNullValueArrivesAsNull() throws Exception {
        unbatched(topic).newMessage().key("k").value(null).send();
        assertNull(receive(exclusive(topic)).getValue());
    }

    @Test
    void theIdOfTheReceiptIsTheIdOfTheMessage() throws Exception {
        var id = unbatched(topic).send("v");
        assertEquals(id, receive(exclusive(topic)).getMessageId());
    }

    @ParameterizedTest
    @EnumSource(CompressionType.class)
    void aCompressedBatchArrivesWhole(CompressionType compression) throws Exception {
        Producer<String> producer =
                client.newProducer(Schema.STRING).topic(topic).compressionType(compression).create();
        sendBatch(producer, numbered("v", 200));
        assertEquals(List.of(numbered("v", 200)), values(exclusive(topic), 200));
    }

    @Test
    void manyMessagesArriveInOrder() throws Exception {
        Producer<String> producer = client.newProducer(Schema.STRING).topic(topic).blockIfQueueFull(true).create();
        sendBatch(producer, numbered("v", 5000));
        assertEquals(List.of(numbered("v", 5000)), values(exclusive(topic), 5000));
    }

    @Test
    void aMessageBeyondTheSizeLimitIsRefusedAndTheProducerGoesOn() throws Exception {
        Producer<String> producer = unbatched(topic);
        assertThrows(PulsarClientException.InvalidMessageException.class,
                () -> producer.send("x".repeat(6 * 1024 * 1024)));
        producer.send("small");
        assertEquals("small", receive(exclusive(topic)).getValue());
    }

    @Test
    void anEncryptedMessageIsHandedOnAsItCame() throws Exception {
        Keys keys = new Keys();
        client.newProducer(Schema.STRING).topic(topic).cryptoKeyReader(keys).addEncryptionKey("key").create()
                .send("secret");
        Consumer<String> consumer =
                subscribe(topic, "s", SubscriptionType.Exclusive).cryptoKeyReader(keys).subscribe();
        Message<String> message = receive(consumer);
        assertEquals("secret", message.getValue());
        Optional<EncryptionContext> context = message.getEncryptionCtx();
        assertTrue(context.isPresent() && context.get().getKeys().containsKey("key"));
    }

    @Test
    void aNamespaceThatWantsEncryptionRefusesAPlainProducer() throws Exception {
        String namespace = newNamespace();
        ADMIN.namespaces().setEncryptionRequiredStatus(namespace, true);
        assertThrows(PulsarClientException.class, () -> unbatched(newTopic(namespace)));
    }
}
