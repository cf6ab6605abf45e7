package commute.codec.moshi;

import com.squareup.moshi.JsonAdapter;
import com.squareup.moshi.Moshi;
import commute.codec.Generated;
import java.lang.annotation.Annotation;
import java.lang.reflect.Type;
import java.util.Set;

/** Finds a message's adapter by name, as Moshi does for classes with its annotation. */
final class GeneratedAdapterFactory implements JsonAdapter.Factory {
    @Override
    public JsonAdapter<?> create(Type type, Set<? extends Annotation> annotations, Moshi moshi) {
        if (!(type instanceof Class) || !type.getTypeName().startsWith("commute.codec.plain.")) {
            return null;
        }
        try {
            return (JsonAdapter<?>) Generated.libraryClass("commute.codec.moshi", (Class<?>) type, "JsonAdapter")
                    .getConstructor(Moshi.class).newInstance(moshi);
        } catch (ReflectiveOperationException missing) {
            throw new IllegalArgumentException(missing);
        }
    }
}
