package commute.codec;

import commute.codec.plain.Big;
import commute.codec.plain.BigMap;
import commute.codec.plain.BigRecord;
import java.util.ArrayList;
import java.util.List;

/** Makes the message of the unity-msgpack study, which each call makes again. */
final class BigMessage {
    private BigMessage() {}

    static Big make(int size) {
        Big big = new Big();
        big.id = 1;
        big.name = "test";
        big.intValue = 14142;
        big.floatValue = 3.141565f;
        big.boolValue = true;
        big.str = "test";
        big.arr = List.of(1, 2, 8, 9);
        big.map = map();
        big.intArr = new ArrayList<>(size);
        big.strArr = new ArrayList<>(size);
        big.boolArr = new ArrayList<>(size);
        big.mapArr = new ArrayList<>(size);
        for (int i = 0; i < size; i++) {
            big.intArr.add(i);
            big.strArr.add("text_" + i);
            big.boolArr.add(i % 2 == 1);
            big.mapArr.add(record(i));
        }
        return big;
    }

    private static BigRecord record(int i) {
        BigRecord record = new BigRecord();
        record.id = 10000 + i;
        record.name = "map" + i;
        record.intValue = 14142;
        record.floatValue = 3.141565f;
        record.boolValue = true;
        record.str = "test";
        record.arr = List.of(1, 2, 8, 9);
        record.map = map();
        return record;
    }

    private static BigMap map() {
        BigMap map = new BigMap();
        map.foo = "bar";
        map.buzz = 551;
        map.piyo = 2.14;
        return map;
    }
}
