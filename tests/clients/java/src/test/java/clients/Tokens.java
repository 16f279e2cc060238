package clients;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Tokens that the broker of SECURED_SERVICE_URL trusts. */
public final class Tokens {
    private Tokens() {}

    /** A token of a role that expires in that many seconds, signed with the `secret.key` of these credentials. */
    public static String signed(Path credentials, String role, int seconds) {
        try {
            String claims = String.format("{\"sub\":\"%s\",\"exp\":%d}", role, Instant.now().getEpochSecond() + seconds);
            String body = String.join(".", List.of(encoded("{\"alg\":\"HS256\"}".getBytes(StandardCharsets.UTF_8)),
                    encoded(claims.getBytes(StandardCharsets.UTF_8))));
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(Files.readAllBytes(credentials.resolve("secret.key")), "HmacSHA256"));
            return body + "." + encoded(mac.doFinal(body.getBytes(StandardCharsets.UTF_8)));
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static String encoded(byte[] data) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(data);
    }
}
