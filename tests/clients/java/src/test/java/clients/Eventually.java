package clients;

import static org.junit.jupiter.api.Assertions.fail;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;

/** Waiting for a condition, with a deadline, instead of sleeping. */
public final class Eventually {
    private static final Duration DEADLINE = Duration.ofSeconds(20);
    private static final Duration INTERVAL = Duration.ofMillis(20);

    private Eventually() {}

    /** Returns when the condition holds; an exception or a failed assertion counts as "not yet". */
    public static void until(String what, Callable<Boolean> condition) {
        long end = System.nanoTime() + DEADLINE.toNanos();
        Throwable last = null;
        do {
            try {
                if (condition.call()) {
                    return;
                }
            } catch (Exception | AssertionError e) {
                last = e;
            }
            LockSupport.parkNanos(INTERVAL.toNanos());
        } while (System.nanoTime() < end);
        fail(what + ": not within " + DEADLINE.toSeconds() + " s", last);
    }
}
