package clients.v5;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.ProducerBuilder;
import org.apache.pulsar.client.api.v5.PulsarClientException;
import org.apache.pulsar.client.api.v5.config.ProducerAccessMode;
import org.apache.pulsar.client.api.v5.schema.Schema;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AccessModesTest extends V5Test {
    private ProducerBuilder<String> builder(ProducerAccessMode mode) throws PulsarClientException {
        return newClient().newProducer(Schema.string()).topic(topic).accessMode(mode);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 3})
    void anExclusiveProducerIsTheOnlyOne(int partitions) throws Exception {
        create(partitions);
        builder(ProducerAccessMode.EXCLUSIVE).create().newMessage().value("v").send();
        assertThrows(PulsarClientException.class, () -> builder(ProducerAccessMode.EXCLUSIVE).create());
        Producer<String> shared = builder(ProducerAccessMode.SHARED).sendTimeout(Duration.ofSeconds(3)).create();
        assertThrows(PulsarClientException.class, () -> shared.newMessage().value("v").send());
    }

    @Test
    void aFencingProducerReplacesTheOldOne() throws Exception {
        create(0);
        Producer<String> old = builder(ProducerAccessMode.EXCLUSIVE).create();
        Producer<String> fencing = builder(ProducerAccessMode.EXCLUSIVE_WITH_FENCING).create();
        fencing.newMessage().value("v").send();
        assertThrows(PulsarClientException.class, () -> old.newMessage().value("late").send());
    }

    @Test
    void aProducerMayWaitUntilItIsTheOnlyOne() throws Exception {
        create(0);
        Producer<String> first = builder(ProducerAccessMode.EXCLUSIVE).create();
        CompletableFuture<Producer<String>> waits = builder(ProducerAccessMode.WAIT_FOR_EXCLUSIVE).createAsync();
        assertFalse(waits.isDone());
        first.close();
        waits.get(ARRIVES.toSeconds(), TimeUnit.SECONDS).newMessage().value("v").send();
        assertEquals(1, ADMIN.topics().getStats(topic).getMsgInCounter());
    }
}
