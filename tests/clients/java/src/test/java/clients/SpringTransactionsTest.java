package clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.SubscriptionType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.MapPropertySource;
import org.springframework.pulsar.annotation.EnablePulsar;
import org.springframework.pulsar.annotation.PulsarListener;
import org.springframework.pulsar.config.ConcurrentPulsarListenerContainerFactory;
import org.springframework.pulsar.core.DefaultPulsarConsumerFactory;
import org.springframework.pulsar.core.DefaultPulsarProducerFactory;
import org.springframework.pulsar.core.PulsarTemplate;
import org.springframework.pulsar.listener.AckMode;
import org.springframework.pulsar.listener.PulsarContainerProperties;
import org.springframework.pulsar.transaction.PulsarTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;

/** Spring for Apache Pulsar: templates, {@code @Transactional} methods, and listeners with transactions. */
class SpringTransactionsTest extends TransactionalClient {
    private String output;
    private AnnotationConfigApplicationContext context;

    @BeforeEach
    void start() {
        output = newTopic();
        context = new AnnotationConfigApplicationContext();
        context.getEnvironment().getPropertySources()
                .addFirst(new MapPropertySource("test", Map.of("input", topic, "output", output)));
        context.getBeanFactory().registerSingleton("client", client);
        context.register(Application.class);
        context.refresh();
    }

    @AfterEach
    void stop() {
        context.close();
    }

    @Test
    void aTemplateSendsAllOrNothing() throws Exception {
        Consumer<String> consumer = exclusive(output);
        PulsarTemplate<String> template = template();
        assertThrows(IllegalStateException.class, () -> template.executeInTransaction(inside -> {
            inside.send(output, "lost");
            throw new IllegalStateException("after the first message");
        }));
        template.executeInTransaction(inside -> inside.send(output, "a") + " " + inside.send(output, "b"));
        assertEquals(List.of("a", "b"), values(consumer, 2));
        assertQuiet(consumer);
    }

    @Test
    void aTransactionalMethodSendsAllOrNothing() throws Exception {
        Consumer<String> first = exclusive(topic + "-1");
        Consumer<String> second = exclusive(topic + "-2");
        Orders orders = context.getBean(Orders.class);
        assertThrows(IllegalStateException.class, () -> orders.place(topic, "lost", false));
        orders.place(topic, "paid", true);
        assertEquals(List.of("paid"), values(first, 1));
        assertEquals(List.of("paid"), values(second, 1));
        assertQuiet(first);
        assertQuiet(second);
    }

    @Test
    void aListenerThatFailsIsCalledAgainAndItsOutputIsThereOnce() throws Exception {
        Consumer<String> consumer = exclusive(output);
        Producer<String> producer = unbatched(topic);
        for (String value : numbered("v", 10)) {
            producer.send(value);
        }
        assertEquals(Set.of(numbered("V", 10)), new HashSet<>(values(consumer, 10)));
        assertQuiet(consumer);
        Eventually.until("everything is acknowledged", () -> backlog() == 0);
    }

    @SuppressWarnings("unchecked")
    private PulsarTemplate<String> template() {
        return context.getBean(PulsarTemplate.class);
    }

    @Configuration
    @EnablePulsar
    @EnableTransactionManagement
    static class Application {
        @Bean
        PulsarTransactionManager transactionManager(PulsarClient client) {
            return new PulsarTransactionManager(client);
        }

        @Bean
        PulsarTemplate<String> template(PulsarClient client) {
            PulsarTemplate<String> template = new PulsarTemplate<>(new DefaultPulsarProducerFactory<String>(client));
            template.transactions().setEnabled(true);
            return template;
        }

        @Bean
        ConcurrentPulsarListenerContainerFactory<String> pulsarListenerContainerFactory(
                PulsarClient client, PulsarTransactionManager manager) {
            PulsarContainerProperties properties = new PulsarContainerProperties();
            properties.transactions().setEnabled(true);
            properties.transactions().setTransactionManager(manager);
            return new ConcurrentPulsarListenerContainerFactory<>(
                    new DefaultPulsarConsumerFactory<String>(client, List.of()), properties);
        }

        @Bean
        Orders orders(PulsarTemplate<String> template) {
            return new Orders(template);
        }

        @Bean
        Uppercase uppercase(PulsarTemplate<String> template, @Value("${output}") String output) {
            return new Uppercase(template, output);
        }
    }

    static class Orders {
        private final PulsarTemplate<String> template;

        Orders(PulsarTemplate<String> template) {
            this.template = template;
        }

        @Transactional
        public void place(String topic, String order, boolean isPaid) {
            template.send(topic + "-1", order);
            template.send(topic + "-2", order);
            if (!isPaid) {
                throw new IllegalStateException("not paid");
            }
        }
    }

    /** Sends each message in capitals, and then fails at the first attempt of every third one. */
    static class Uppercase {
        private final PulsarTemplate<String> template;
        private final String output;
        private final Set<String> failed = new HashSet<>();

        Uppercase(PulsarTemplate<String> template, String output) {
            this.template = template;
            this.output = output;
        }

        @PulsarListener(topics = "${input}", subscriptionName = "s", subscriptionType = SubscriptionType.Shared,
                ackMode = AckMode.RECORD,
                properties = {"subscriptionInitialPosition=Earliest", "negativeAckRedeliveryDelayMicros=100000"})
        void onMessage(String value) {
            template.send(output, value.toUpperCase(Locale.ROOT));
            if (Integer.parseInt(value.substring(1)) % 3 == 0 && failed.add(value)) {
                throw new IllegalStateException("first attempt of " + value);
            }
        }
    }
}
