package clients;

import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.Map;
import org.apache.pulsar.client.api.CryptoKeyReader;
import org.apache.pulsar.client.api.EncryptionKeyInfo;

/** One RSA key pair, whatever name is asked for. */
final class Keys implements CryptoKeyReader {
    private final transient KeyPair pair;

    Keys() throws NoSuchAlgorithmException {
        KeyPairGenerator generator = KeyPairGenerator.getInstance("RSA");
        generator.initialize(2048);
        pair = generator.generateKeyPair();
    }

    @Override
    public EncryptionKeyInfo getPublicKey(String name, Map<String, String> metadata) {
        return new EncryptionKeyInfo(pem("PUBLIC KEY", pair.getPublic().getEncoded()), Map.of());
    }

    @Override
    public EncryptionKeyInfo getPrivateKey(String name, Map<String, String> metadata) {
        return new EncryptionKeyInfo(pem("PRIVATE KEY", pair.getPrivate().getEncoded()), Map.of());
    }

    private static byte[] pem(String kind, byte[] der) {
        String body = Base64.getMimeEncoder(64, "\n".getBytes()).encodeToString(der);
        return ("-----BEGIN " + kind + "-----\n" + body + "\n-----END " + kind + "-----\n").getBytes();
    }
}
