package clients.v5;

import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.client.api.v5.StreamConsumer;
import org.apache.pulsar.client.api.v5.schema.Schema;
import org.junit.jupiter.api.Test;

class DurabilityTest extends V5Test {
    @Test
    void streamConsumersGoOnAfterTheirBrokerHasDied() throws Exception {
        try (OwnBroker broker = new OwnBroker();
             PulsarClient one = PulsarClient.builder().serviceUrl(broker.serviceUrl()).build();
             PulsarClient two = PulsarClient.builder().serviceUrl(broker.serviceUrl()).build()) {
            KeyedMessages messages = new KeyedMessages();
            broker.createPartitionedTopic(topic, 4);
            StreamConsumer<String> a = stream(one, "a").subscribe();
            StreamConsumer<String> b = stream(two, "b").subscribe();
            Producer<String> producer = one.newProducer(Schema.string()).topic(topic).create();
            messages.send(producer, 64);
            messages.receiveAll(a, b);
            broker.kill();
            broker.start();
            messages.send(producer, 64);
            messages.receiveAll(a, b);
        }
    }
}
