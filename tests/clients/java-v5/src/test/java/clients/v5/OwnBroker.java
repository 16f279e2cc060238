package clients.v5;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.admin.PulsarAdmin;

/** A broker that a test may end: `pulsarctl standalone` of PULSARCTL, which keeps its port and its data. */
final class OwnBroker implements AutoCloseable {
    private final Path data = Files.createTempDirectory("v5-broker-");
    private Process process;
    private String port = "0";
    private String webUrl;

    OwnBroker() throws Exception {
        start();
    }

    String serviceUrl() {
        return "pulsar://127.0.0.1:" + port;
    }

    void start() throws IOException {
        process = new ProcessBuilder(V5Test.required("PULSARCTL"), "standalone", "--data-dir", data.toString(),
                "--port", port, "--http-port", "0", "--print-urls", "json")
                .redirectError(ProcessBuilder.Redirect.DISCARD).start();
        String urls = new BufferedReader(new InputStreamReader(process.getInputStream())).readLine();
        port = urls.replaceFirst(".*pulsar://[^:]+:(\\d+).*", "$1");
        webUrl = urls.replaceFirst(".*(http://[^\"/]+).*", "$1");
    }

    void createPartitionedTopic(String topic, int partitions) throws Exception {
        try (PulsarAdmin admin = PulsarAdmin.builder().serviceHttpUrl(webUrl).build()) {
            admin.topics().createPartitionedTopic(topic, partitions);
        }
    }

    /** As kill -9. */
    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor(20, TimeUnit.SECONDS);
    }

    @Override
    public void close() throws Exception {
        kill();
        try (var files = Files.walk(data)) {
            for (Path path : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        }
    }
}
