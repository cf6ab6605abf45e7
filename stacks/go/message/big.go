package message

import "fmt"

// NewBig makes the record of the unity-msgpack study, with n elements in each of its lists.
func NewBig(n int32) *Big {
	base := record(1, "test")
	big := &Big{
		ID: base.ID, Name: base.Name, IntValue: base.IntValue, FloatValue: base.FloatValue,
		BoolValue: base.BoolValue, Str: base.Str, Arr: base.Arr, Map: base.Map,
		IntArr: make([]int32, n), StrArr: make([]string, n), BoolArr: make([]bool, n), MapArr: make([]BigRecord, n),
	}
	for i := range n {
		big.IntArr[i] = i
		big.StrArr[i] = fmt.Sprintf("text_%d", i)
		big.BoolArr[i] = i%2 == 1
		big.MapArr[i] = record(10_000+i, fmt.Sprintf("map%d", i))
	}
	return big
}

func record(id int32, name string) BigRecord {
	return BigRecord{
		ID: id, Name: name, IntValue: 14142, FloatValue: 3.141565, BoolValue: true, Str: "test",
		Arr: []int32{1, 2, 8, 9}, Map: BigMap{Foo: "bar", Buzz: 551, Piyo: 2.14},
	}
}
