namespace Commute.Client
{
    /// <summary>A checksum of decoded content.</summary>
    abstract class Checksum
    {
        public abstract void Add(byte[] bytes, int offset, int count);

        public abstract uint Value { get; }

        /// <summary>How long it is in the content.</summary>
        public virtual int Bytes => 4;

        /// <summary>RFC 1952 section 8.</summary>
        public sealed class Crc32 : Checksum
        {
            static readonly uint[] Table = Made();
            uint inverted = uint.MaxValue;

            public override uint Value => ~inverted;

            public override void Add(byte[] bytes, int offset, int count)
            {
                var crc = inverted;
                for (var index = offset; index < offset + count; index++)
                    crc = Table[(crc ^ bytes[index]) & 255] ^ crc >> 8;
                inverted = crc;
            }

            static uint[] Made()
            {
                var table = new uint[256];
                for (uint index = 0; index < table.Length; index++)
                {
                    var entry = index;
                    for (var bit = 0; bit < 8; bit++)
                        entry = (entry & 1) != 0 ? entry >> 1 ^ 0xedb88320 : entry >> 1;
                    table[index] = entry;
                }
                return table;
            }
        }

        /// <summary>RFC 1950 section 8.2.</summary>
        public sealed class Adler32 : Checksum
        {
            const uint Prime = 65521;
            /// <summary>So many bytes do not overflow the sums.</summary>
            const int Largest = 5552;
            uint low = 1, high;

            public override uint Value => high << 16 | low;

            public override void Add(byte[] bytes, int offset, int count)
            {
                for (var index = 0; index < count; index++)
                {
                    low += bytes[offset + index];
                    high += low;
                    if (index % Largest == Largest - 1)
                        Reduce();
                }
                Reduce();
            }

            void Reduce()
            {
                low %= Prime;
                high %= Prime;
            }
        }

        /// <summary>Content without a checksum.</summary>
        public sealed class None : Checksum
        {
            public override uint Value => 0;
            public override int Bytes => 0;

            public override void Add(byte[] bytes, int offset, int count)
            {
            }
        }
    }
}
