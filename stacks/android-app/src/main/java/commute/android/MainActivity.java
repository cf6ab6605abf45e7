package commute.android;

import android.app.Activity;
import android.os.Bundle;
import android.view.WindowManager;
import android.widget.Button;
import android.widget.EditText;
import android.widget.LinearLayout;
import android.widget.TextView;
import commute.driver.Driver;
import commute.driver.LabChannel;
import commute.okhttp.OkHttpStack;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.Provider;
import javax.net.SocketFactory;
import javax.net.ssl.SSLContext;
import okhttp3.OkHttp;

/** Asks where the lab listens, then drives this phone's OkHttp and TLS for it. */
public final class MainActivity extends Activity {
    private EditText address;
    private Button start;
    private TextView state;

    @Override
    protected void onCreate(Bundle saved) {
        super.onCreate(saved);
        // A phone that dozes stops its radio and this app.
        getWindow().addFlags(WindowManager.LayoutParams.FLAG_KEEP_SCREEN_ON);
        address = new EditText(this);
        address.setHint("host:port");
        start = new Button(this);
        start.setText("Drive");
        start.setOnClickListener(button -> drive(address.getText().toString().trim()));
        state = new TextView(this);
        state.setText("Credentials: " + getExternalFilesDir(null));
        LinearLayout column = new LinearLayout(this);
        column.setOrientation(LinearLayout.VERTICAL);
        column.setFitsSystemWindows(true);
        column.addView(address);
        column.addView(start);
        column.addView(state);
        setContentView(column);
    }

    private void drive(String lab) {
        start.setEnabled(false);
        state.setText("driving for " + lab);
        new Thread(() -> {
            String outcome = follow(lab);
            runOnUiThread(() -> {
                state.setText(outcome);
                start.setEnabled(true);
            });
        }, "driver").start();
    }

    /** Until the lab closes; what to show then. */
    private String follow(String address) {
        try (LabChannel lab = LabChannel.at(address, getExternalFilesDir(null))) {
            Driver.serve(new OkHttpStack(OkHttp.VERSION, tls(), SocketFactory.getDefault()), null, lab);
            return "done";
        } catch (IOException | GeneralSecurityException | RuntimeException failure) {
            return failure.toString();
        }
    }

    private static String tls() throws GeneralSecurityException {
        Provider provider = SSLContext.getDefault().getProvider();
        return provider.getName() + " " + provider.getVersion() + " (Conscrypt of this Android)";
    }
}
