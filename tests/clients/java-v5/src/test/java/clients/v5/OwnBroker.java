package clients.v5;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.admin.PulsarAdmin;

/**
 * A broker that a test may end, or that has settings of its own: `pulsarctl standalone` of PULSARCTL. It keeps its port
 * and its data.
 */
final class OwnBroker implements AutoCloseable {
    private final Path data = Files.createTempDirectory("v5-broker-");
    private final String[] settings;
    private Process process;
    private String port = "0";
    private String webUrl;

    /** Asks the admin API. */
    interface Request {
        void send(PulsarAdmin admin) throws Exception;
    }

    /** With settings as `key=value`. */
    OwnBroker(String... settings) throws Exception {
        this.settings = settings;
        start();
    }

    String serviceUrl() {
        return "pulsar://127.0.0.1:" + port;
    }

    void start() throws IOException {
        List<String> command = new ArrayList<>(List.of(V5Test.required("PULSARCTL"), "standalone", "--data-dir",
                data.toString(), "--port", port, "--http-port", "0", "--print-urls", "json"));
        for (String setting : settings) {
            command.addAll(List.of("-X", setting));
        }
        process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        String urls = new BufferedReader(new InputStreamReader(process.getInputStream())).readLine();
        port = urls.replaceFirst(".*pulsar://[^:]+:(\\d+).*", "$1");
        webUrl = urls.replaceFirst(".*(http://[^\"/]+).*", "$1");
    }

    void ask(Request request) throws Exception {
        try (PulsarAdmin admin = PulsarAdmin.builder().serviceHttpUrl(webUrl).build()) {
            request.send(admin);
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
