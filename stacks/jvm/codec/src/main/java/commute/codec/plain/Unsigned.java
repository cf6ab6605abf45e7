package commute.codec.plain;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** A long that is read as one from 0 to 2^64 - 1. */
@Retention(RetentionPolicy.RUNTIME)
public @interface Unsigned {}
