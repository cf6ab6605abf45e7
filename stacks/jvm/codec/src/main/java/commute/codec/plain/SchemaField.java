package commute.codec.plain;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** A field's number in the schema, which orders value files, and its name in codecs with names. */
@Retention(RetentionPolicy.RUNTIME)
public @interface SchemaField {
    int number();

    String json();
}
