using System;
using System.Collections.Generic;
using System.Security.Cryptography;

namespace Commute
{
    /// <summary>A response's body, kept in blocks during the call and digested after it.</summary>
    sealed class ResponseBody
    {
        const int FirstBlockBytes = 4096, BlockBytes = 65536;

        readonly List<byte[]> blocks = new List<byte[]>();
        int used;

        public long Length { get; private set; }

        /// <summary>
        /// Returns a buffer for the next bytes. <c>Advance</c> records how many were written.
        /// </summary>
        public ArraySegment<byte> GetBuffer()
        {
            if (blocks.Count == 0 || used == Last.Length)
            {
                blocks.Add(new byte[blocks.Count == 0 ? FirstBlockBytes : BlockBytes]);
                used = 0;
            }
            return new ArraySegment<byte>(Last, used, Last.Length - used);
        }

        /// <summary>Records that bytes were written to the buffer.</summary>
        public void Advance(int count)
        {
            used += count;
            Length += count;
        }

        /// <summary>Returns the whole body in one array.</summary>
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

        /// <summary>Returns the SHA-256 digest in lower-case hex.</summary>
        public string Digest()
        {
            using (var sha256 = SHA256.Create())
            {
                for (var i = 0; i < blocks.Count; i++)
                    sha256.TransformBlock(blocks[i], 0, i == blocks.Count - 1 ? used : blocks[i].Length, null, 0);
                sha256.TransformFinalBlock(new byte[0], 0, 0);
                return BitConverter.ToString(sha256.Hash).Replace("-", "").ToLowerInvariant();
            }
        }

        byte[] Last => blocks[blocks.Count - 1];
    }
}
