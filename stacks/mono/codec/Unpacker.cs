using System;
using System.IO;
using System.Text;

namespace Commute.Bench
{
    /// Reads MessagePack, new and old: any form of a value that holds what is asked for. No
    /// length is believed beyond what is left of the input.
    sealed class Unpacker
    {
        const int DeepestNesting = 64;

        static readonly UTF8Encoding Utf8 = new UTF8Encoding(false, true);

        readonly byte[] input;
        int at;

        public Unpacker(byte[] input)
        {
            this.input = input;
        }

        public bool AtEnd => at == input.Length;

        /// Takes a nil, if that comes next.
        public bool Nil()
        {
            if (Peek() != 0xc0)
                return false;
            at++;
            return true;
        }

        /// Opens a message: a map of names and values, or an array of values.
        public int Message(out bool named)
        {
            var mark = Peek();
            named = mark >> 4 == 0x8 || mark == 0xde || mark == 0xdf;
            return named ? Map() : Array();
        }

        public int Array()
        {
            var mark = Byte();
            switch (mark)
            {
                case 0xdc: return Count(Big(2), 1);
                case 0xdd: return Count(Big(4), 1);
                default: return mark >> 4 == 0x9 ? Count(mark & 0xfu, 1) : throw Unfit("an array", mark);
            }
        }

        /// The place among `names` of the name that comes next, -1 if it is none of them; most
        /// often it is at `likely`.
        public int Name(byte[][] names, int likely)
        {
            var length = Text();
            var start = at;
            at += length;
            if (likely < names.Length && Same(names[likely], start, length))
                return likely;
            for (var place = 0; place < names.Length; place++)
                if (Same(names[place], start, length))
                    return place;
            return -1;
        }

        public int ReadInt32() => checked((int)ReadInt64());

        public long ReadInt64()
        {
            var mark = Byte();
            return mark == 0xcf ? checked((long)Big(8)) : Integer(mark);
        }

        public ulong ReadUInt64()
        {
            var mark = Byte();
            return mark == 0xcf ? Big(8) : checked((ulong)Integer(mark));
        }

        public int? ReadNullable()
        {
            if (Nil())
                return null;
            return ReadInt32();
        }

        public bool ReadBoolean()
        {
            var mark = Byte();
            return mark == 0xc3 || (mark == 0xc2 ? false : throw Unfit("a boolean", mark));
        }

        public float ReadSingle() => (float)ReadDouble();

        public unsafe double ReadDouble()
        {
            var mark = Byte();
            if (mark == 0xcb)
                return BitConverter.Int64BitsToDouble((long)Big(8));
            if (mark != 0xca)
                throw Unfit("a number", mark);
            var bits = (uint)Big(4);
            return *(float*)&bits;
        }

        public string ReadString()
        {
            var length = Text();
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
                length = Count(Big(1 << (mark - 0xc4)), 1);
            }
            else
                length = Text();
            var bytes = new byte[length];
            Buffer.BlockCopy(input, at, bytes, 0, length);
            at += length;
            return bytes;
        }

        public void Skip() => Skip(0);

        void Skip(int depth)
        {
            if (depth == DeepestNesting)
                throw new InvalidDataException("nested too deep");
            var mark = Peek();
            if (mark >> 4 == 0x8 || mark == 0xde || mark == 0xdf)
                SkipEach(2L * Map(), depth);
            else if (mark >> 4 == 0x9 || mark == 0xdc || mark == 0xdd)
                SkipEach(Array(), depth);
            else if (mark >> 5 == 0x5 || mark >= 0xd9 && mark <= 0xdb)
                at += Text();
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
                at += Count(Big(1 << (mark - 0xc4)), 1);
            else if (mark >= 0xc7 && mark <= 0xc9)
            {
                var length = Big(1 << (mark - 0xc7));
                at += Count(length + 1, 1);
            }
            else if (mark == 0xca || mark == 0xcb)
                Big(mark == 0xca ? 4 : 8);
            else if (mark >= 0xcc && mark <= 0xd3)
                Big(1 << (mark & 3));
            else if (mark >= 0xd4 && mark <= 0xd8)
                at += Count(1ul + (1ul << (mark - 0xd4)), 1);
            else
                throw Unfit("a value", mark);
        }

        int Map()
        {
            var mark = Byte();
            switch (mark)
            {
                case 0xde: return Count(Big(2), 2);
                case 0xdf: return Count(Big(4), 2);
                default: return mark >> 4 == 0x8 ? Count(mark & 0xfu, 2) : throw Unfit("a map", mark);
            }
        }

        /// Length of the text, or raw, that begins here; its bytes come next.
        int Text()
        {
            var mark = Byte();
            if (mark >> 5 == 0x5)
                return Count(mark & 0x1fu, 1);
            return mark >= 0xd9 && mark <= 0xdb ? Count(Big(1 << (mark - 0xd9)), 1) : throw Unfit("text", mark);
        }

        long Integer(byte mark)
        {
            if (mark < 0x80 || mark >= 0xe0)
                return (sbyte)mark;
            switch (mark)
            {
                case 0xcc: case 0xcd: case 0xce: return (long)Big(1 << (mark - 0xcc));
                case 0xd0: return (sbyte)Big(1);
                case 0xd1: return (short)Big(2);
                case 0xd2: return (int)Big(4);
                case 0xd3: return (long)Big(8);
                default: throw Unfit("an integer", mark);
            }
        }

        /// A count of things of at least `size` bytes each, all of which must still be there.
        int Count(ulong count, int size) =>
            count <= (ulong)((input.Length - at) / size) ? (int)count : throw new InvalidDataException("the input ends too early");

        ulong Big(int count)
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

        byte Peek() => at < input.Length ? input[at] : throw new InvalidDataException("the input ends too early");

        bool Same(byte[] name, int start, int length)
        {
            if (name.Length != length)
                return false;
            for (var i = 0; i < length; i++)
                if (name[i] != input[start + i])
                    return false;
            return true;
        }

        static InvalidDataException Unfit(string wanted, byte mark) =>
            new InvalidDataException($"{wanted} belongs where 0x{mark:x2} stands");
    }
}
