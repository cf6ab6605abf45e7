// Never run: see bindings/android/README.md.
package commute.sample;

import android.app.Activity;
import android.os.Bundle;
import android.widget.Button;
import android.widget.EditText;
import android.widget.LinearLayout;
import android.widget.TextView;
import commute.android.NetworkWatch;
import commute.android.SaveInBackground;
import commute.client.Commute;
import commute.client.Settings;
import java.io.File;
import java.io.IOException;
import okhttp3.Call;
import okhttp3.Callback;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;

/** Sends a request at each press of a button, and shows how the response came. */
public final class MainActivity extends Activity {
    private static final String URL = "https://www.example.com/";

    // One for the process, as for any OkHttp client: an activity is made again when the phone is turned.
    private static OkHttpClient client;

    private TextView said;

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        if (client == null) {
            File memory = new File(getFilesDir(), "commute");
            Commute.configure(new Settings.Builder().memory(memory).hintHttp3(URL).build());
            client = Commute.install(new OkHttpClient.Builder()).build();
            NetworkWatch.begin(this, client.connectionPool());
            SaveInBackground.begin(this);
        }
        EditText url = new EditText(this);
        url.setText(URL);
        Button send = new Button(this);
        send.setText("GET");
        send.setOnClickListener(pressed -> send(url.getText().toString()));
        said = new TextView(this);
        LinearLayout all = new LinearLayout(this);
        all.setOrientation(LinearLayout.VERTICAL);
        // Else the bars of the system would cover it (since Android 15).
        all.setFitsSystemWindows(true);
        all.addView(url);
        all.addView(send);
        all.addView(said);
        setContentView(all);
        String missing = Commute.missingLibrary();
        say(missing == null ? "" : "no native library, so every request goes plainly: " + missing);
    }

    private void send(String url) {
        Request request;
        try {
            request = new Request.Builder().url(url).build();
        } catch (IllegalArgumentException notOne) {
            say(notOne.getMessage());
            return;
        }
        client.newCall(request).enqueue(new Callback() {
            @Override
            public void onResponse(Call call, Response response) throws IOException {
                try (Response open = response) {
                    long bytes = open.body().bytes().length;
                    say(open.code() + ", " + bytes + " bytes\n" + Commute.report(open));
                }
            }

            @Override
            public void onFailure(Call call, IOException failure) {
                say(failure.toString());
            }
        });
    }

    private void say(String text) {
        runOnUiThread(() -> said.setText(text));
    }
}
