package commute.codec.plain;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** The field's number in the schema, by which value files go, and its name where codecs have names. */
@Retention(RetentionPolicy.RUNTIME)
public @interface Number {
    int value();

    String json();
}
