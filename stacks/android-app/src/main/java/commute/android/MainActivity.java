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

/** Asks for the lab's address, then drives this phone's OkHttp over the phone's TLS. */
public final class MainActivity extends Activity {
    private EditText addressField;
    private Button start;
    private TextView status;

    @Override
    protected void onCreate(Bundle saved) {
        super.onCreate(saved);
        // A dozing phone stops its radio and this app.
        getWindow().addFlags(WindowManager.LayoutParams.FLAG_KEEP_SCREEN_ON);
        addressField = new EditText(this);
        addressField.setHint("host:port");
        start = new Button(this);
        start.setText("Start");
        start.setOnClickListener(button -> drive(addressField.getText().toString().trim()));
        status = new TextView(this);
        status.setText("Credentials: " + getExternalFilesDir(null));
        LinearLayout column = new LinearLayout(this);
        column.setOrientation(LinearLayout.VERTICAL);
        column.setFitsSystemWindows(true);
        column.addView(addressField);
        column.addView(start);
        column.addView(status);
        setContentView(column);
    }

    private void drive(String address) {
        start.setEnabled(false);
        status.setText("running for " + address);
        new Thread(() -> {
            String outcome = serve(address);
            runOnUiThread(() -> {
                status.setText(outcome);
                start.setEnabled(true);
            });
        }, "driver").start();
    }

    /** Serves the lab until it closes. Returns the text to show then. */
    private String serve(String address) {
        try (LabChannel lab = LabChannel.connect(address, getExternalFilesDir(null))) {
            Driver.serve(new OkHttpStack(OkHttp.VERSION, tls(), SocketFactory.getDefault()), null, lab);
            return "done";
        } catch (IOException | GeneralSecurityException | RuntimeException failure) {
            return failure.toString();
        }
    }

    private static String tls() throws GeneralSecurityException {
        Provider provider = SSLContext.getDefault().getProvider();
        return provider.getName() + " " + provider.getVersion() + " (this Android's Conscrypt)";
    }
}
