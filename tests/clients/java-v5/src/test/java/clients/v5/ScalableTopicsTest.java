package clients.v5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import clients.Eventually;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.admin.PulsarAdminException;
import org.apache.pulsar.client.admin.PulsarAdminException.NotFoundException;
import org.apache.pulsar.client.admin.PulsarAdminException.PreconditionFailedException;
import org.apache.pulsar.client.api.v5.Message;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.client.api.v5.PulsarClientException;
import org.apache.pulsar.client.api.v5.QueueConsumer;
import org.apache.pulsar.client.api.v5.config.ProducerAccessMode;
import org.apache.pulsar.client.api.v5.config.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.v5.schema.Schema;
import org.apache.pulsar.common.policies.data.AutoTopicCreationOverride;
import org.junit.jupiter.api.Test;

/** Scalable topics as clients create, find, and lose them. */
class ScalableTopicsTest extends OnScalableTopic {
    private String useNamespaceWithoutCreation() throws Exception {
        String namespace = newNamespace();
        ADMIN.namespaces().setAutoTopicCreation(namespace,
                AutoTopicCreationOverride.builder().allowAutoTopicCreation(false).build());
        topic = scalable(newTopic(namespace));
        return namespace;
    }

    @Test
    void aProducerCreatesItsTopicWithOneSegment() throws Exception {
        producer().newMessage().key("k").value("v").send();
        assertEquals(1, activeSegments());
        assertEquals("v", next(queue("q").subscribe()::receive).value());
    }

    @Test
    void aTopicIsNotMadeWhereTheNamespaceForbidsIt() throws Exception {
        String namespace = useNamespaceWithoutCreation();
        assertThrows(PulsarClientException.class, () -> producer().newMessage().value("v").send());
        assertThrows(PulsarClientException.class, () -> queue("q").subscribe());
        assertEquals(List.of(), ADMIN.scalableTopics().listScalableTopics(namespace));
    }

    @Test
    void listsAndPatternsOfOlderClientsHaveNoScalableTopics() throws Exception {
        String namespace = newNamespace();
        topic = scalable(newTopic(namespace));
        create(2);
        String regular = newTopic(namespace);
        ADMIN.topics().createNonPartitionedTopic(regular);
        producer().newMessage().key("k").value("scalable").send();
        assertEquals(List.of(regular), ADMIN.topics().getList(namespace));
        assertEquals(List.of(topic), ADMIN.scalableTopics().listScalableTopics(namespace));
        var old = oldClient().newConsumer(org.apache.pulsar.client.api.Schema.STRING)
                .topicsPattern("persistent://" + namespace + "/.*").subscriptionName("s")
                .subscriptionInitialPosition(org.apache.pulsar.client.api.SubscriptionInitialPosition.Earliest).subscribe();
        oldClient().newProducer(org.apache.pulsar.client.api.Schema.STRING).topic(regular).create().send("regular");
        assertEquals("regular", old.receive(15, TimeUnit.SECONDS).getValue());
        assertEquals(null, old.receive(300, TimeUnit.MILLISECONDS));
    }

    @Test
    void anotherSchemaIsRefusedOnEverySegment() throws Exception {
        create(4);
        producer().newMessage().key("k").value("v").send();
        split(0);
        Producer<Integer> other = client.newProducer(Schema.int32()).topic(topic).create();
        for (int i = 0; i < 16; i++) {
            var message = other.newMessage().key("k" + i).value(i);
            assertThrows(PulsarClientException.class, message::send);
        }
        assertThrows(PulsarClientException.class, () -> client.newQueueConsumer(Schema.int32()).topic(topic)
                .subscriptionName("q").subscribe());
    }

    @Test
    void aSecondExclusiveProducerIsFencedOnEverySegment() throws Exception {
        create(1);
        Producer<String> exclusive = exclusive();
        exclusive.newMessage().key("k").value("v").send();
        assertThrows(PulsarClientException.class, () -> exclusive().newMessage().key("k").value("w").send());
        split(0);
        for (int i = 0; i < 16; i++) {
            exclusive.newMessage().key("k" + i).value("v").send();
        }
        for (int i = 0; i < 16; i++) {
            String key = "k" + i;
            assertThrows(PulsarClientException.class, () -> exclusive().newMessage().key(key).value("w").send());
        }
    }

    private Producer<String> exclusive() throws Exception {
        return client.newProducer(Schema.string()).topic(topic).accessMode(ProducerAccessMode.EXCLUSIVE).create();
    }

    @Test
    void aTopicWithClientsIsDeletedOnlyByForce() throws Exception {
        String namespace = useNamespaceWithoutCreation();
        create(2);
        Producer<String> producer = producer();
        producer.newMessage().key("k").value("v").send();
        QueueConsumer<String> consumer = queue("q").subscribe();
        assertEquals("v", next(consumer::receive).value());
        assertThrows(PreconditionFailedException.class, () -> ADMIN.scalableTopics().deleteScalableTopic(topic, false));
        ADMIN.scalableTopics().deleteScalableTopic(topic, true);
        assertEquals(List.of(), ADMIN.scalableTopics().listScalableTopics(namespace));
        assertThrows(NotFoundException.class, () -> ADMIN.scalableTopics().getMetadata(topic));
        assertThrows(NotFoundException.class, () -> ADMIN.scalableTopics().getStats(topic));
        assertThrows(PulsarClientException.class, () -> producer().newMessage().value("v").send());
        create(1);
        assertQuiet(queue("other").subscribe()::receive);
    }

    @Test
    void aTopicWithoutClientsIsDeleted() throws Exception {
        create(1);
        Producer<String> producer = producer();
        producer.newMessage().key("k").value("v").send();
        producer.close();
        split(0);
        Eventually.until("nobody is connected", () -> {
            ADMIN.scalableTopics().deleteScalableTopic(topic, false);
            return true;
        });
        assertFalse(ADMIN.scalableTopics().listScalableTopics("public/default").contains(topic));
    }

    @Test
    void aConsumerOfANamespaceFollowsTheTopicsWithAProperty() throws Exception {
        String namespace = newNamespace();
        QueueConsumer<String> consumer = client.newQueueConsumer(Schema.string())
                .namespace(namespace, Map.of("team", "a")).subscriptionName("ns")
                .subscriptionInitialPosition(SubscriptionInitialPosition.EARLIEST).subscribe();
        String first = newTopicOf(namespace, "a");
        newTopicOf(namespace, "b");
        String second = newTopicOf(namespace, "a");
        Set<String> topics = new TreeSet<>();
        for (int i = 0; i < 2; i++) {
            Message<String> message = next(consumer::receive);
            consumer.acknowledge(message.id());
            topics.add(message.value());
        }
        assertEquals(new TreeSet<>(Set.of(first, second)), topics);
        ADMIN.scalableTopics().deleteScalableTopic(first, true);
        String third = newTopicOf(namespace, "a");
        assertEquals(third, next(consumer::receive).value());
        assertQuiet(consumer::receive);
    }

    /** A topic whose property `team` has that value, and one message, which is its name. */
    private String newTopicOf(String namespace, String team) throws Exception {
        String name = scalable(newTopic(namespace));
        ADMIN.scalableTopics().createScalableTopic(name, 1, Map.of("team", team));
        try (Producer<String> producer = client.newProducer(Schema.string()).topic(name).create()) {
            producer.newMessage().key("k").value(name).send();
        }
        return name;
    }

    @Test
    void aBrokerWithoutScalableTopicsSaysSo() throws Exception {
        try (OwnBroker broker = new OwnBroker("scalableTopicsEnabled=false");
             PulsarClient own = PulsarClient.builder().serviceUrl(broker.serviceUrl()).build()) {
            assertThrows(PulsarClientException.class, () -> own.newProducer(Schema.string()).topic(topic).create());
            Throwable refusal = assertThrows(PulsarClientException.class, () -> own.newProducer(Schema.string())
                    .topic(topic.replace("topic://", "persistent://")).create());
            assertTrue(refusal.toString().contains("does not support scalable topics"), refusal::toString);
            broker.ask(admin -> assertThrows(PulsarAdminException.NotFoundException.class,
                    () -> admin.scalableTopics().listScalableTopics("public/default")));
        }
    }
}
