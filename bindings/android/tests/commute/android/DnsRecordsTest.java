package commute.android;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import android.net.DnsResolver;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Queries for HTTPS records, with a stand-in for Android's resolver. */
final class DnsRecordsTest {
    @Test
    void theSystemIsAskedForType65() {
        byte[] message = {1, 2, 3};
        List<byte[]> answers = new ArrayList<>();
        DnsResolver.answer = message;
        new DnsRecords(29).ask("_8443._https.a.example", answers::add);
        assertEquals("null _8443._https.a.example 1 65 0", DnsResolver.asked);
        assertEquals(1, answers.size());
        assertSame(message, answers.get(0));
    }

    @Test
    void aQueryThatFailsHasNoAnswer() {
        DnsResolver.answer = null;
        List<byte[]> answers = new ArrayList<>();
        new DnsRecords(29).ask("a.example", answers::add);
        assertEquals(Collections.singletonList(null), answers);
    }

    @Test
    void beforeAndroid10NothingIsAsked() {
        DnsResolver.asked = null;
        List<byte[]> answers = new ArrayList<>();
        new DnsRecords(28).ask("a.example", answers::add);
        assertNull(DnsResolver.asked);
        assertEquals(Collections.singletonList(null), answers);
    }
}
