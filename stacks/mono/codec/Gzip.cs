using System;
using System.IO;
using System.IO.Compression;

namespace Commute.Bench
{
    /// <summary>
    /// Another codec with its bytes compressed by GZipStream. Mono always passes zlib's default
    /// level, 6, whatever the CompressionLevel.
    /// </summary>
    sealed class Gzip : Codec
    {
        const int MaxDecompressed = 64 << 20;

        readonly Codec inner;

        public Gzip(Codec inner)
        {
            this.inner = inner;
        }

        public override string Name => inner.Name + "+gzip-6";
        public override string Library => inner.Library;
        public override string LibraryVersion => inner.LibraryVersion + ", GZipStream";
        public override string[] Parts => inner.Parts;
        public override string Caveat => inner.Caveat;

        public override Coder For(Type kind)
        {
            var coder = inner.For(kind);
            return new Coder
            {
                Populate = coder.Populate,
                Encode = own => Compress((byte[])coder.Encode(own)),
                Decode = bytes => coder.Decode(Decompress((byte[])bytes)),
                Convert = coder.Convert,
            };
        }

        static byte[] Compress(byte[] bytes)
        {
            var compressed = new MemoryStream();
            using (var gzip = new GZipStream(compressed, CompressionLevel.Optimal))
                gzip.Write(bytes, 0, bytes.Length);
            return compressed.ToArray();
        }

        static byte[] Decompress(byte[] compressed)
        {
            var bytes = new MemoryStream();
            var block = new byte[16384];
            using (var gzip = new GZipStream(new MemoryStream(compressed), CompressionMode.Decompress))
                for (int count; (count = gzip.Read(block, 0, block.Length)) > 0; bytes.Write(block, 0, count))
                    if (bytes.Length + count > MaxDecompressed)
                        throw new InvalidDataException("decompressed to more than 64 MiB");
            // Mono's stream does not report truncated input; the trailer has the length.
            if (compressed.Length < 4 || BitConverter.ToUInt32(compressed, compressed.Length - 4) != bytes.Length)
                throw new InvalidDataException("the compressed input is truncated");
            return bytes.ToArray();
        }
    }
}
