// The message of the unity-msgpack study.

using System.Collections.Generic;
using System.Linq;

namespace Commute.Bench
{
    sealed partial class Big
    {
        /// <summary>
        /// Makes the message as the study's client does, with <c>n</c> elements in each list.
        /// </summary>
        public static Big Make(int n)
        {
            var record = BigRecord.Make("test", 1);
            var numbers = Enumerable.Range(0, n);
            return new Big
            {
                id = record.id,
                name = record.name,
                @int = record.@int,
                @float = record.@float,
                @bool = record.@bool,
                str = record.str,
                arr = record.arr,
                map = record.map,
                intarr = numbers.ToList(),
                strarr = numbers.Select(i => "text_" + i).ToList(),
                boolarr = numbers.Select(i => i % 2 == 1).ToList(),
                maparr = numbers.Select(i => BigRecord.Make("map" + i, 10000 + i)).ToList(),
            };
        }
    }

    sealed partial class BigRecord
    {
        public static BigRecord Make(string name, int id) => new BigRecord
        {
            id = id,
            name = name,
            @int = 14142,
            @float = 3.141565f,
            @bool = true,
            str = "test",
            arr = new List<int> { 1, 2, 8, 9 },
            map = new BigMap { foo = "bar", buzz = 551, piyo = 2.14 },
        };
    }
}
