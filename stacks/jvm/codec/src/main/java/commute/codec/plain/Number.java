package commute.codec.plain;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** The field's number in the schema: value files go by it. */
@Retention(RetentionPolicy.RUNTIME)
public @interface Number {
    int value();
}
