// The bytes of requests and responses.

using System;
using System.Collections.Generic;
using System.Security.Cryptography;

namespace Commute
{
    /// A response's body, kept in blocks while the call is under way and digested after it.
    sealed class Body
    {
        const int FirstBlock = 4096, Block = 65536;

        readonly List<byte[]> blocks = new List<byte[]>();
        int used;

        public long Length { get; private set; }

        /// Where the next bytes may be written; `Took` says how many were.
        public ArraySegment<byte> Room()
        {
            if (blocks.Count == 0 || used == Last.Length)
            {
                blocks.Add(new byte[blocks.Count == 0 ? FirstBlock : Block]);
                used = 0;
            }
            return new ArraySegment<byte>(Last, used, Last.Length - used);
        }

        public void Took(int count)
        {
            used += count;
            Length += count;
        }

        public byte[] ToArray()
        {
            var bytes = new byte[Length];
            var at = 0;
            foreach (var block in blocks)
            {
                var count = Math.Min(block.Length, bytes.Length - at);
                Buffer.BlockCopy(block, 0, bytes, at, count);
                at += count;
            }
            return bytes;
        }

        public string Digest()
        {
            using (var sha256 = SHA256.Create())
            {
                for (var place = 0; place < blocks.Count; place++)
                    sha256.TransformBlock(blocks[place], 0, place == blocks.Count - 1 ? used : blocks[place].Length, null, 0);
                sha256.TransformFinalBlock(new byte[0], 0, 0);
                return BitConverter.ToString(sha256.Hash).Replace("-", "").ToLowerInvariant();
            }
        }

        byte[] Last => blocks[blocks.Count - 1];
    }

    /// The house's file: SplitMix64 from seed 0, little endian.
    static class Seeded
    {
        static byte[] made = new byte[0];

        /// At least `length` bytes of it, shared by all that ask; made once.
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
