package commute.codec.plain;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** Marks a long that holds an unsigned number. */
@Retention(RetentionPolicy.RUNTIME)
public @interface Unsigned {}
