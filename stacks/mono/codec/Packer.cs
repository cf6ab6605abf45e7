using System;
using System.Text;

namespace Commute.Bench
{
    /// <summary>Writes MessagePack, with each value in its shortest form.</summary>
    class Packer
    {
        static readonly UTF8Encoding Utf8 = new UTF8Encoding(false, true);

        byte[] buffer = new byte[1024];
        int used;

        /// <summary>Starts again in the same buffer.</summary>
        public void Clear() => used = 0;

        /// <summary>Returns a copy of what was written.</summary>
        public byte[] ToArray()
        {
            var bytes = new byte[used];
            Buffer.BlockCopy(buffer, 0, bytes, 0, used);
            return bytes;
        }

        public void MapHeader(int count) => Header(count, 0x80, 16, 0xde);

        public void ArrayHeader(int count) => Header(count, 0x90, 16, 0xdc);

        public void Nil() => Bytes(1, 0xc0);

        public void Write(int value) => Write((long)value);

        public virtual void Write(long value)
        {
            if (value >= 0)
                Write((ulong)value);
            else
                WriteSigned(value);
        }

        public virtual void Write(ulong value)
        {
            if (value < 0x80)
                Bytes(1, value);
            else if (value <= byte.MaxValue)
                Marked(0xcc, 1, value);
            else if (value <= ushort.MaxValue)
                Marked(0xcd, 2, value);
            else if (value <= uint.MaxValue)
                Marked(0xce, 4, value);
            else
                Marked(0xcf, 8, value);
        }

        public void Write(int? value)
        {
            if (value == null)
                Nil();
            else
                Write(value.Value);
        }

        public void Write(bool value) => Bytes(1, value ? 0xc3u : 0xc2u);

        public unsafe void Write(float value) => Marked(0xca, 4, *(uint*)&value);

        public void Write(double value) => Marked(0xcb, 8, (ulong)BitConverter.DoubleToInt64Bits(value));

        public void Write(string value)
        {
            var length = Utf8.GetByteCount(value);
            StringHeader(length);
            Reserve(length);
            used += Utf8.GetBytes(value, 0, value.Length, buffer, used);
        }

        public void Write(byte[] value)
        {
            BinaryHeader(value.Length);
            Raw(value);
        }

        /// <summary>Writes bytes that are already MessagePack.</summary>
        public void Raw(byte[] value)
        {
            Reserve(value.Length);
            Buffer.BlockCopy(value, 0, buffer, used, value.Length);
            used += value.Length;
        }

        protected void WriteSigned(long value)
        {
            if (value >= -32 && value <= sbyte.MaxValue)
                Bytes(1, (byte)value);
            else if (value >= sbyte.MinValue && value <= sbyte.MaxValue)
                Marked(0xd0, 1, (ulong)value);
            else if (value >= short.MinValue && value <= short.MaxValue)
                Marked(0xd1, 2, (ulong)value);
            else if (value >= int.MinValue && value <= int.MaxValue)
                Marked(0xd2, 4, (ulong)value);
            else
                Marked(0xd3, 8, (ulong)value);
        }

        protected virtual void StringHeader(int length)
        {
            if (length >= 32 && length <= byte.MaxValue)
                Marked(0xd9, 1, (ulong)length);
            else
                Header(length, 0xa0, 32, 0xda);
        }

        protected virtual void BinaryHeader(int length)
        {
            if (length <= byte.MaxValue)
                Marked(0xc4, 1, (ulong)length);
            else if (length <= ushort.MaxValue)
                Marked(0xc5, 2, (ulong)length);
            else
                Marked(0xc6, 4, (ulong)length);
        }

        /// <summary>
        /// Writes a length. Lengths below <c>smallLimit</c> go into the first byte; <c>large</c>
        /// marks 16 bits, the next value 32.
        /// </summary>
        protected void Header(int length, byte small, int smallLimit, byte large)
        {
            if (length < smallLimit)
                Bytes(1, (ulong)(small | length));
            else if (length <= ushort.MaxValue)
                Marked(large, 2, (ulong)length);
            else
                Marked((byte)(large + 1), 4, (ulong)length);
        }

        void Marked(byte mark, int count, ulong value)
        {
            Reserve(1 + count);
            buffer[used++] = mark;
            Put(count, value);
        }

        void Bytes(int count, ulong value)
        {
            Reserve(count);
            Put(count, value);
        }

        void Put(int count, ulong value)
        {
            for (var shift = 8 * (count - 1); shift >= 0; shift -= 8)
                buffer[used++] = (byte)(value >> shift);
        }

        void Reserve(int count)
        {
            if (buffer.Length - used < count)
                System.Array.Resize(ref buffer, Math.Max(2 * buffer.Length, checked(used + count)));
        }
    }

    /// <summary>
    /// Writes the form from before the specification of 2013, as in the unity-msgpack study:
    /// integers only in signed forms, and both strings and bytes as "raw", which has no 8-bit
    /// length.
    /// </summary>
    sealed class OldPacker : Packer
    {
        public override void Write(long value) => WriteSigned(value);

        public override void Write(ulong value)
        {
            if (value <= long.MaxValue)
                WriteSigned((long)value);
            else
                base.Write(value);
        }

        protected override void StringHeader(int length) => Header(length, 0xa0, 32, 0xda);

        protected override void BinaryHeader(int length) => StringHeader(length);
    }
}
