using System;
using System.IO;
using System.Text;

namespace Commute.Bench
{
    /// <summary>
    /// Reads MessagePack, in the new form and the old: every form of a value that fits the
    /// requested type. Lengths are checked against the rest of the input.
    /// </summary>
    sealed class Unpacker
    {
        const int MaxDepth = 64;

        static readonly UTF8Encoding Utf8 = new UTF8Encoding(false, true);

        readonly byte[] input;
        int at;

        public Unpacker(byte[] input)
        {
            this.input = input;
        }

        public bool AtEnd => at == input.Length;

        /// <summary>Consumes a nil if it comes next.</summary>
        public bool TryNil()
        {
            if (Peek() != 0xc0)
                return false;
            at++;
            return true;
        }

        /// <summary>
        /// Reads the header of a message, which is a map by field name or an array by position.
        /// Returns the number of entries.
        /// </summary>
        public int MessageHeader(out bool named)
        {
            var mark = Peek();
            named = mark >> 4 == 0x8 || mark == 0xde || mark == 0xdf;
            return named ? MapHeader() : ArrayHeader();
        }

        /// <summary>Reads the header of an array and returns its length.</summary>
        public int ArrayHeader()
        {
            var mark = Byte();
            switch (mark)
            {
                case 0xdc: return Count(BigEndian(2), 1);
                case 0xdd: return Count(BigEndian(4), 1);
                default: return mark >> 4 == 0x9 ? Count(mark & 0xfu, 1) : throw WrongType("an array", mark);
            }
        }

        /// <summary>
        /// Reads a name and returns its index in <c>names</c>, or -1. Tries <c>likely</c> first,
        /// which is usually right.
        /// </summary>
        public int FieldIndex(byte[][] names, int likely)
        {
            var length = StringHeader();
            var start = at;
            at += length;
            if (likely < names.Length && IsAt(names[likely], start, length))
                return likely;
            for (var i = 0; i < names.Length; i++)
                if (IsAt(names[i], start, length))
                    return i;
            return -1;
        }

        public int ReadInt32() => checked((int)ReadInt64());

        public long ReadInt64()
        {
            var mark = Byte();
            return mark == 0xcf ? checked((long)BigEndian(8)) : Integer(mark);
        }

        public ulong ReadUInt64()
        {
            var mark = Byte();
            return mark == 0xcf ? BigEndian(8) : checked((ulong)Integer(mark));
        }

        public int? ReadNullable()
        {
            if (TryNil())
                return null;
            return ReadInt32();
        }

        public bool ReadBoolean()
        {
            var mark = Byte();
            return mark == 0xc3 || (mark == 0xc2 ? false : throw WrongType("a boolean", mark));
        }

        public float ReadSingle() => (float)ReadDouble();

        public unsafe double ReadDouble()
        {
            var mark = Byte();
            if (mark == 0xcb)
                return BitConverter.Int64BitsToDouble((long)BigEndian(8));
            if (mark != 0xca)
                throw WrongType("a number", mark);
            var bits = (uint)BigEndian(4);
            return *(float*)&bits;
        }

        public string ReadString()
        {
            var length = StringHeader();
            var text = Utf8.GetString(input, at, length);
            at += length;
            return text;
        }

        public byte[] ReadBytes()
        {
            var mark = Peek();
            int length;
            if (mark >= 0xc4 && mark <= 0xc6)
            {
                at++;
                length = Count(BigEndian(1 << (mark - 0xc4)), 1);
            }
            else
                length = StringHeader();
            var bytes = new byte[length];
            Buffer.BlockCopy(input, at, bytes, 0, length);
            at += length;
            return bytes;
        }

        /// <summary>Skips a value.</summary>
        public void Skip() => Skip(0);

        void Skip(int depth)
        {
            if (depth == MaxDepth)
                throw new InvalidDataException("nested too deeply");
            var mark = Peek();
            if (mark >> 4 == 0x8 || mark == 0xde || mark == 0xdf)
                SkipEach(2L * MapHeader(), depth);
            else if (mark >> 4 == 0x9 || mark == 0xdc || mark == 0xdd)
                SkipEach(ArrayHeader(), depth);
            else if (mark >> 5 == 0x5 || mark >= 0xd9 && mark <= 0xdb)
                at += StringHeader();
            else
                SkipLeaf();
        }

        void SkipEach(long count, int depth)
        {
            for (; count > 0; count--)
                Skip(depth + 1);
        }

        void SkipLeaf()
        {
            var mark = Byte();
            if (mark < 0x80 || mark >= 0xe0 || mark == 0xc0 || mark == 0xc2 || mark == 0xc3)
                return;
            if (mark >= 0xc4 && mark <= 0xc6)
                at += Count(BigEndian(1 << (mark - 0xc4)), 1);
            else if (mark >= 0xc7 && mark <= 0xc9)
            {
                var length = BigEndian(1 << (mark - 0xc7));
                at += Count(length + 1, 1);
            }
            else if (mark == 0xca || mark == 0xcb)
                BigEndian(mark == 0xca ? 4 : 8);
            else if (mark >= 0xcc && mark <= 0xd3)
                BigEndian(1 << (mark & 3));
            else if (mark >= 0xd4 && mark <= 0xd8)
                at += Count(1ul + (1ul << (mark - 0xd4)), 1);
            else
                throw WrongType("a value", mark);
        }

        int MapHeader()
        {
            var mark = Byte();
            switch (mark)
            {
                case 0xde: return Count(BigEndian(2), 2);
                case 0xdf: return Count(BigEndian(4), 2);
                default: return mark >> 4 == 0x8 ? Count(mark & 0xfu, 2) : throw WrongType("a map", mark);
            }
        }

        /// <summary>Reads the length of a string, or of the old form's raw. Its bytes follow.</summary>
        int StringHeader()
        {
            var mark = Byte();
            if (mark >> 5 == 0x5)
                return Count(mark & 0x1fu, 1);
            return mark >= 0xd9 && mark <= 0xdb ? Count(BigEndian(1 << (mark - 0xd9)), 1) : throw WrongType("a string", mark);
        }

        long Integer(byte mark)
        {
            if (mark < 0x80 || mark >= 0xe0)
                return (sbyte)mark;
            switch (mark)
            {
                case 0xcc: case 0xcd: case 0xce: return (long)BigEndian(1 << (mark - 0xcc));
                case 0xd0: return (sbyte)BigEndian(1);
                case 0xd1: return (short)BigEndian(2);
                case 0xd2: return (int)BigEndian(4);
                case 0xd3: return (long)BigEndian(8);
                default: throw WrongType("an integer", mark);
            }
        }

        /// <summary>
        /// Returns a count of elements of at least <c>size</c> bytes each; throws if the input is
        /// too short for them.
        /// </summary>
        int Count(ulong count, int size) =>
            count <= (ulong)((input.Length - at) / size) ? (int)count : throw new InvalidDataException("the input is truncated");

        ulong BigEndian(int count)
        {
            Count((ulong)count, 1);
            ulong value = 0;
            for (; count > 0; count--)
                value = value << 8 | input[at++];
            return value;
        }

        byte Byte()
        {
            var mark = Peek();
            at++;
            return mark;
        }

        byte Peek() => at < input.Length ? input[at] : throw new InvalidDataException("the input is truncated");

        bool IsAt(byte[] name, int start, int length)
        {
            if (name.Length != length)
                return false;
            for (var i = 0; i < length; i++)
                if (name[i] != input[start + i])
                    return false;
            return true;
        }

        static InvalidDataException WrongType(string wanted, byte mark) =>
            new InvalidDataException($"expected {wanted}, found 0x{mark:x2}");
    }
}
