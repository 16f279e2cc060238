// Runs pulsar-admin command lines in one JVM, because a JVM for each line takes longer than the line.
//
// A request is one line on stdin: the words of a command line, each as Base64, with spaces between them ("=" for an
// empty word). The answer is one line on stdout: the exit code, and stdout and stderr of the command as Base64.

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Properties;

public class PulsarAdminDriver {
    private static final String TOOL = "org.apache.pulsar.admin.cli.PulsarAdminTool";

    public static void main(String[] arguments) throws Exception {
        Class<?> tool = Class.forName(TOOL);
        Constructor<?> create = tool.getConstructor(Properties.class);
        Method run = tool.getDeclaredMethod("run", String[].class);
        run.setAccessible(true);
        PrintStream answers = System.out;
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            answers.println(answer(create, run, words(line)));
            answers.flush();
        }
        Runtime.getRuntime().halt(0); // the threads of HTTP clients would keep the JVM alive
    }

    private static String answer(Constructor<?> create, Method run, String[] words) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        Object tool = create.newInstance(new Properties()); // a new one takes no option of the line before
        System.setIn(InputStream.nullInputStream()); // a question gets no answer
        int code = run(tool, run, words) ? 0 : 1; // as PulsarAdminTool.execute
        close(tool);
        System.out.flush();
        System.err.flush();
        return code + " " + encoded(out) + " " + encoded(err);
    }

    private static boolean run(Object tool, Method run, String[] words) throws Exception {
        try {
            return (boolean) run.invoke(tool, (Object) words);
        } catch (InvocationTargetException failure) {
            failure.getCause().printStackTrace(); // ends the real tool, too
            return false;
        }
    }

    /** Closes the HTTP client, if the command made one: the tool leaves that to the end of the JVM. */
    private static void close(Object tool) throws Exception {
        Object supplier = tool.getClass().getMethod("getPulsarAdminSupplier").invoke(tool);
        Field admin = supplier.getClass().getDeclaredField("admin");
        admin.setAccessible(true);
        if (admin.get(supplier) instanceof AutoCloseable client) {
            client.close();
        }
    }

    private static String[] words(String line) {
        String[] words = line.split(" ");
        for (int index = 0; index < words.length; index++) {
            words[index] = words[index].equals("=")
                ? "" : new String(Base64.getDecoder().decode(words[index]), StandardCharsets.UTF_8);
        }
        return words;
    }

    private static String encoded(ByteArrayOutputStream bytes) {
        return bytes.size() == 0 ? "=" : Base64.getEncoder().encodeToString(bytes.toByteArray());
    }
}
