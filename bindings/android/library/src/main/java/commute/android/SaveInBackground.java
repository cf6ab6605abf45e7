// Never run on a device: see bindings/android/README.md.
package commute.android;

import android.content.ComponentCallbacks2;
import android.content.Context;
import android.content.res.Configuration;
import commute.client.Commute;

/** Saves what commute has learnt when the app goes to the background, where Android may end it without a word. */
public final class SaveInBackground implements ComponentCallbacks2 {
    private final Runnable save;

    SaveInBackground(Runnable save) {
        this.save = save;
    }

    /** Starts to watch, for as long as the process lives. */
    public static void begin(Context context) {
        context.getApplicationContext().registerComponentCallbacks(new SaveInBackground(Commute::save));
    }

    @Override
    public void onTrimMemory(int level) {
        if (level == TRIM_MEMORY_UI_HIDDEN) {
            // Not on the main thread, where this comes in: a flash memory may take long.
            new Thread(save, "commute save").start();
        }
    }

    @Override
    public void onConfigurationChanged(Configuration changed) {}

    @Override
    public void onLowMemory() {}
}
