package commute.android;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import android.content.ComponentCallbacks;
import android.content.ComponentCallbacks2;
import android.content.Context;
import android.content.ContextWrapper;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** When it is saved, by Android's own classes without a device. */
final class SaveInBackgroundTest {
    @Test
    void itIsSavedWhenTheAppIsNoLongerSeenAndAtNoOtherLevel() throws Exception {
        Semaphore saved = new Semaphore(0);
        SaveInBackground watch = new SaveInBackground(saved::release);
        watch.onTrimMemory(ComponentCallbacks2.TRIM_MEMORY_RUNNING_LOW);
        watch.onTrimMemory(ComponentCallbacks2.TRIM_MEMORY_UI_HIDDEN);
        assertTrue(saved.tryAcquire(20, TimeUnit.SECONDS), "not saved");
        watch.onTrimMemory(ComponentCallbacks2.TRIM_MEMORY_BACKGROUND);
        watch.onTrimMemory(ComponentCallbacks2.TRIM_MEMORY_UI_HIDDEN);
        assertTrue(saved.tryAcquire(20, TimeUnit.SECONDS), "not saved again");
        assertFalse(saved.tryAcquire(100, TimeUnit.MILLISECONDS), "saved too often");
    }

    @Test
    void theAppTellsIt() {
        List<ComponentCallbacks> told = new ArrayList<>();
        Context app = new ContextWrapper(null) {
            @Override
            public void registerComponentCallbacks(ComponentCallbacks callback) {
                told.add(callback);
            }
        };
        SaveInBackground.begin(new ContextWrapper(null) {
            @Override
            public Context getApplicationContext() {
                return app;
            }
        });
        assertEquals(1, told.size());
        assertTrue(told.get(0) instanceof SaveInBackground);
    }
}
