namespace Commute
{
    /// <summary>The bytes that uploads send: SplitMix64 from seed 0, little endian.</summary>
    static class Seeded
    {
        static byte[] made = new byte[0];

        /// <summary>Returns at least <c>length</c> bytes. They are shared and must not be written to.</summary>
        public static byte[] AtLeast(long length)
        {
            if (made.Length < length)
                made = Make(checked((int)length));
            return made;
        }

        static byte[] Make(int length)
        {
            var bytes = new byte[(length + 7) / 8 * 8];
            ulong state = 0;
            for (var at = 0; at < bytes.Length; at += 8)
            {
                state += 0x9e3779b97f4a7c15;
                var z = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
                z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
                z ^= z >> 31;
                for (var i = 0; i < 8; i++)
                    bytes[at + i] = (byte)(z >> (8 * i));
            }
            return bytes;
        }
    }
}
