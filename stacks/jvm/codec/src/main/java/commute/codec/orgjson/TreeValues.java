package commute.codec.orgjson;

import java.math.BigInteger;
import java.util.Base64;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;

/**
 * Reads the values of a tree with strict types. org.json's own getters accept "12" for 12 and
 * truncate large numbers. An absent name (null, unlike JSON's null) gives the default value.
 */
final class TreeValues {
    private static final JSONArray NO_ELEMENTS = new JSONArray();
    private static final JSONObject NO_NAMES = new JSONObject();
    private static final byte[] NO_BYTES = {};

    private TreeValues() {}

    /** Returns a number for the tree that is the long's unsigned value. */
    static Number unsigned(long value) {
        return value >= 0 ? (Number) value : new BigInteger(Long.toUnsignedString(value));
    }

    static int int32Of(Object value) {
        return value == null ? 0 : of(Integer.class, value);
    }

    static long int64Of(Object value) {
        return value instanceof Long ? (Long) value : int32Of(value);
    }

    static long uint64Of(Object value) {
        if (value instanceof BigInteger) {
            BigInteger large = (BigInteger) value;
            if (large.signum() >= 0 && large.bitLength() <= 64) {
                return large.longValue();
            }
        } else {
            long small = int64Of(value);
            if (small >= 0) {
                return small;
            }
        }
        throw new JSONException(value + " is not a uint64");
    }

    static float floatOf(Object value) {
        float number = value == null ? 0 : of(Number.class, value).floatValue();
        if (Float.isInfinite(number)) {
            throw new JSONException(value + " is not a float");
        }
        return number;
    }

    static double doubleOf(Object value) {
        double number = value == null ? 0 : of(Number.class, value).doubleValue();
        if (Double.isInfinite(number)) {
            throw new JSONException(value + " is not a double");
        }
        return number;
    }

    static boolean boolOf(Object value) {
        return value == null ? false : of(Boolean.class, value);
    }

    static String stringOf(Object value) {
        return value == null ? "" : of(String.class, value);
    }

    static byte[] bytesOf(Object value) {
        return value == null ? NO_BYTES : Base64.getDecoder().decode(of(String.class, value));
    }

    static Void nullOf(Object value) {
        if (value != null && value != JSONObject.NULL) {
            throw new JSONException("expected null, found a value");
        }
        return null;
    }

    static JSONArray array(Object value) {
        return value == null ? NO_ELEMENTS : of(JSONArray.class, value);
    }

    static JSONObject object(Object value) {
        return value == null ? NO_NAMES : of(JSONObject.class, value);
    }

    private static <T> T of(Class<T> kind, Object value) {
        if (!kind.isInstance(value)) {
            throw new JSONException("expected " + kind.getSimpleName() + ", found " + value.getClass().getSimpleName());
        }
        return kind.cast(value);
    }
}
