// Never compiled or run: it needs the Android SDK. See README.md.
package commute.sample;

import android.app.Activity;
import android.os.Bundle;
import android.widget.TextView;
import commute.android.NetworkWatch;
import commute.client.Commute;
import commute.client.Settings;
import java.io.File;
import java.io.IOException;
import okhttp3.Call;
import okhttp3.Callback;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;

/** Makes a request when it is opened, and shows how the response came. */
public final class MainActivity extends Activity {
    private static final String URL = "https://www.example.com/";

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        TextView text = new TextView(this);
        setContentView(text);
        Commute.configure(new Settings.Builder().memory(new File(getFilesDir(), "commute")).hintHttp3(URL).build());
        OkHttpClient client = Commute.install(new OkHttpClient.Builder()).build();
        NetworkWatch.begin(this, client.connectionPool());
        client.newCall(new Request.Builder().url(URL).build()).enqueue(new Callback() {
            @Override
            public void onResponse(Call call, Response response) {
                String said = response.code() + "\n" + Commute.report(response);
                response.close();
                runOnUiThread(() -> text.setText(said));
            }

            @Override
            public void onFailure(Call call, IOException failure) {
                runOnUiThread(() -> text.setText(failure.toString()));
            }
        });
    }
}
