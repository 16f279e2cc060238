package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.junit.jupiter.api.Test;

/** A broker without a transaction coordinator, which is what Pulsar's configuration has by default. */
class TransactionsTest extends ClientTest {
    @Test
    void aClientThatWantsTransactionsIsRefusedAtOnce() {
        assertThrows(PulsarClientException.class, () -> PulsarClient.builder()
                .serviceUrl(System.getenv("PULSAR_SERVICE_URL")).enableTransaction(true).build());
    }

    @Test
    void otherClientsDoNotNotice() throws Exception {
        unbatched(topic).send("v");
        assertEquals("v", receive(exclusive(topic)).getValue());
    }
}
