using System;
using System.IO;

namespace Commute.Client
{
    /// <summary>
    /// Decodes DEFLATE (RFC 1951). Unlike System.IO.Compression's streams, which end silently where their input is cut
    /// off, it knows whether its data is complete, and which byte of the input comes next.
    /// </summary>
    sealed class Inflater
    {
        const int WindowBytes = 1 << 16, MaxDistance = 1 << 15, MaxCodeBits = 15;
        const int EndOfBlock = 256;

        static readonly byte[] Order = { 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15 };
        static readonly ushort[] LengthBase =
        {
            3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
        };
        static readonly byte[] LengthBits =
        {
            0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
        };
        static readonly ushort[] DistanceBase =
        {
            1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145,
            8193, 12289, 16385, 24577,
        };
        static readonly byte[] DistanceBits =
        {
            0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13,
        };

        enum State { Block, StoredLength, Stored, Sizes, CodeLengths, Lengths, Symbols, Done }

        // The last 32 KiB, and up to about as much that nobody has read.
        readonly byte[] window = new byte[WindowBytes];
        readonly byte[] lengths = new byte[286 + 30], fixedLengths = new byte[288];
        readonly Codes codes = new Codes(), literals = new Codes(), distances = new Codes();
        byte[] input = new byte[0];
        int next, end;
        /// <summary>The next bits of the input, the lowest first.</summary>
        ulong bits;
        int bitCount;
        long written, read;
        State state;
        bool last;
        int stored, literalCount, distanceCount, codeCount, index;

        /// <summary>Whether the data is complete and all of it was read.</summary>
        public bool IsDone => state == State.Done && read == written;

        /// <summary>Starts other data, at the next byte of the input.</summary>
        public void Reset()
        {
            state = State.Block;
            written = read = 0;
        }

        /// <summary>Gives more input, once all before it was taken.</summary>
        public void Feed(byte[] bytes, int count)
        {
            input = bytes;
            next = 0;
            end = count;
        }

        /// <summary>Returns the next whole byte of the input, which is not DEFLATE's; -1 if there is none yet.</summary>
        public int TakeByte()
        {
            Drop(bitCount & 7);
            return Need(8) ? Take(8) : -1;
        }

        /// <summary>Gives two bytes back that were just taken.</summary>
        public void Unread(byte first, byte second)
        {
            bits = bits << 16 | (ulong)second << 8 | first;
            bitCount += 16;
        }

        /// <summary>Decodes; returns 0 if it needs more input, or is done.</summary>
        /// <exception cref="InvalidDataException">It is not DEFLATE.</exception>
        public int Read(byte[] into, int offset, int count)
        {
            if (read == written)
                Decode();
            var got = (int)Math.Min(count, written - read);
            for (var done = 0; done < got;)
            {
                var from = (int)(read & (WindowBytes - 1));
                var part = Math.Min(got - done, WindowBytes - from);
                Buffer.BlockCopy(window, from, into, offset + done, part);
                done += part;
                read += part;
            }
            return got;
        }

        void Decode()
        {
            while (written - read < MaxDistance && state != State.Done)
                if (!Step())
                    return;
        }

        /// <summary>Takes the next part of the input; returns false if it is not all there.</summary>
        bool Step()
        {
            switch (state)
            {
                case State.Block:
                    return Block();
                case State.StoredLength:
                    if (!Need(32))
                        return false;
                    stored = Take(16);
                    if (Take(16) != (stored ^ 0xffff))
                        throw Invalid();
                    state = State.Stored;
                    return true;
                case State.Stored:
                    return Stored();
                case State.Sizes:
                    if (!Need(14))
                        return false;
                    literalCount = 257 + Take(5);
                    distanceCount = 1 + Take(5);
                    codeCount = 4 + Take(4);
                    if (literalCount > 286 || distanceCount > 30)
                        throw Invalid();
                    Array.Clear(lengths, 0, lengths.Length);
                    index = 0;
                    state = State.CodeLengths;
                    return true;
                case State.CodeLengths:
                    return CodeLengths();
                case State.Lengths:
                    return Lengths();
                default:
                    return Symbols();
            }
        }

        bool Block()
        {
            if (!Need(3))
                return false;
            last = Take(1) == 1;
            switch (Take(2))
            {
                case 0:
                    Drop(bitCount & 7);
                    state = State.StoredLength;
                    return true;
                case 1:
                    for (var symbol = 0; symbol < 288; symbol++)
                        fixedLengths[symbol] = (byte)(symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8);
                    literals.Build(fixedLengths, 0, 288);
                    for (var symbol = 0; symbol < 32; symbol++)
                        fixedLengths[symbol] = 5;
                    distances.Build(fixedLengths, 0, 32);
                    state = State.Symbols;
                    return true;
                case 2:
                    state = State.Sizes;
                    return true;
                default:
                    throw Invalid();
            }
        }

        bool Stored()
        {
            while (stored > 0 && written - read < MaxDistance)
            {
                if (!Need(8))
                    return false;
                Put((byte)Take(8));
                stored--;
            }
            if (stored == 0)
                EndBlock();
            return true;
        }

        bool CodeLengths()
        {
            for (; index < codeCount; index++)
            {
                if (!Need(3))
                    return false;
                lengths[Order[index]] = (byte)Take(3);
            }
            codes.Build(lengths, 0, Order.Length);
            Array.Clear(lengths, 0, lengths.Length);
            index = 0;
            state = State.Lengths;
            return true;
        }

        /// <summary>Reads the lengths of codes (RFC 1951 section 3.2.7).</summary>
        bool Lengths()
        {
            while (index < literalCount + distanceCount)
            {
                Need(MaxCodeBits + 7);
                int used;
                var symbol = codes.Decode(bits, bitCount, out used);
                var extra = symbol < 16 ? 0 : symbol == 16 ? 2 : symbol == 17 ? 3 : 7;
                if (symbol < 0 || used + extra > bitCount)
                    return false;
                Drop(used);
                if (symbol < 16)
                {
                    lengths[index++] = (byte)symbol;
                    continue;
                }
                var times = Take(extra) + (symbol == 18 ? 11 : 3);
                if (symbol == 16 && index == 0 || index + times > literalCount + distanceCount)
                    throw Invalid();
                var length = symbol == 16 ? lengths[index - 1] : (byte)0;
                for (; times > 0; times--)
                    lengths[index++] = length;
            }
            if (lengths[EndOfBlock] == 0)
                throw Invalid();
            literals.Build(lengths, 0, literalCount);
            distances.Build(lengths, literalCount, distanceCount);
            state = State.Symbols;
            return true;
        }

        bool Symbols()
        {
            while (written - read < MaxDistance)
            {
                // The longest length and distance together.
                Need(2 * MaxCodeBits + 5 + 13);
                int used;
                var symbol = literals.Decode(bits, bitCount, out used);
                if (symbol < 0)
                    return false;
                if (symbol < EndOfBlock)
                {
                    Drop(used);
                    Put((byte)symbol);
                    continue;
                }
                if (symbol == EndOfBlock)
                {
                    Drop(used);
                    EndBlock();
                    return true;
                }
                symbol -= EndOfBlock + 1;
                if (symbol >= LengthBase.Length)
                    throw Invalid();
                var total = used + LengthBits[symbol];
                if (total > bitCount)
                    return false;
                var length = LengthBase[symbol] + Bits(used, LengthBits[symbol]);
                symbol = distances.Decode(bits >> total, bitCount - total, out used);
                if (symbol < 0)
                    return false;
                if (symbol >= DistanceBase.Length)
                    throw Invalid();
                total += used;
                if (total + DistanceBits[symbol] > bitCount)
                    return false;
                var distance = DistanceBase[symbol] + Bits(total, DistanceBits[symbol]);
                if (distance > written)
                    throw Invalid();
                Drop(total + DistanceBits[symbol]);
                for (; length > 0; length--)
                    Put(window[(written - distance) & (WindowBytes - 1)]);
            }
            return true;
        }

        void EndBlock() => state = last ? State.Done : State.Block;

        void Put(byte value) => window[written++ & (WindowBytes - 1)] = value;

        /// <summary>Takes bytes from the input until there are so many bits; returns false if there are not.</summary>
        bool Need(int count)
        {
            while (bitCount < count && next < end)
            {
                bits |= (ulong)input[next++] << bitCount;
                bitCount += 8;
            }
            return bitCount >= count;
        }

        int Bits(int from, int count) => (int)(bits >> from & (1ul << count) - 1);

        int Take(int count)
        {
            var taken = Bits(0, count);
            Drop(count);
            return taken;
        }

        void Drop(int count)
        {
            bits >>= count;
            bitCount -= count;
        }

        static InvalidDataException Invalid() => new InvalidDataException("it is not DEFLATE (RFC 1951)");

        /// <summary>A Huffman code (RFC 1951 section 3.2.2), as a table with an entry for each next word of the input.</summary>
        sealed class Codes
        {
            /// <summary>The symbol, and the length of its code in the lowest four bits; 0: no code begins so.</summary>
            readonly ushort[] table = new ushort[1 << MaxCodeBits];
            int longest;

            public void Build(byte[] lengths, int from, int count)
            {
                var counts = new int[MaxCodeBits + 1];
                for (var symbol = 0; symbol < count; symbol++)
                    counts[lengths[from + symbol]]++;
                counts[0] = 0;
                longest = MaxCodeBits;
                while (longest > 0 && counts[longest] == 0)
                    longest--;
                Array.Clear(table, 0, 1 << longest);
                var codes = new int[MaxCodeBits + 1];
                var left = 1;
                for (var length = 1; length <= MaxCodeBits; length++)
                {
                    left = 2 * left - counts[length];
                    if (left < 0)
                        throw Invalid();
                    if (length < MaxCodeBits)
                        codes[length + 1] = codes[length] + counts[length] << 1;
                }
                // A code may be incomplete only if it has one symbol, or none.
                if (left > 0 && longest > 1)
                    throw Invalid();
                for (var symbol = 0; symbol < count; symbol++)
                {
                    var length = lengths[from + symbol];
                    if (length == 0)
                        continue;
                    var entry = (ushort)(symbol << 4 | length);
                    for (var word = Reversed(codes[length]++, length); word < 1 << longest; word += 1 << length)
                        table[word] = entry;
                }
            }

            /// <summary>Returns the symbol that the bits begin with, and its length; -1 if there are too few bits.</summary>
            public int Decode(ulong bits, int count, out int length)
            {
                var entry = table[(int)(bits & (1ul << longest) - 1)];
                length = entry & 15;
                if (length == 0 && count >= longest)
                    throw Invalid();
                return length == 0 || length > count ? -1 : entry >> 4;
            }

            static int Reversed(int code, int length)
            {
                var reversed = 0;
                for (; length > 0; length--, code >>= 1)
                    reversed = reversed << 1 | code & 1;
                return reversed;
            }
        }
    }
}
