using System;
using System.IO;
using System.Threading;
using System.Threading.Tasks;

namespace Commute.Client
{
    /// <summary>
    /// Undoes a content coding (RFC 9110 section 8.4.1) as the content is read. Content that is cut off, damaged, or
    /// followed by anything else fails with an IOException. Content of no bytes stays empty.
    /// </summary>
    sealed class DecodedStream : ReadStream
    {
        const int InputBytes = 1 << 14;

        enum Part { Start, Data, Trailer, End }

        readonly Stream encoded;
        readonly bool gzip;
        readonly Inflater inflater = new Inflater();
        readonly byte[] input = new byte[InputBytes];
        Part part;
        /// <summary>Whether any input came.</summary>
        bool begun;
        Checksum checksum;
        uint length;
        IOException failure;

        /// <param name="encoded">The content, which is disposed with this stream.</param>
        /// <param name="gzip">Whether it is gzip; otherwise it is deflate.</param>
        public DecodedStream(Stream encoded, bool gzip)
        {
            this.encoded = encoded;
            this.gzip = gzip;
        }

        public override bool CanRead => encoded.CanRead;

        protected override async Task<int> ReadSomeAsync(byte[] buffer, int offset, int count, CancellationToken token)
        {
            if (failure != null)
                throw failure;
            if (count == 0)
                return 0;
            try
            {
                while (part != Part.End)
                {
                    if (part == Part.Start)
                        await StartAsync(token).ConfigureAwait(false);
                    else if (part == Part.Trailer)
                        await TrailerAsync(token).ConfigureAwait(false);
                    else
                    {
                        var got = inflater.Read(buffer, offset, count);
                        if (got > 0)
                        {
                            checksum.Add(buffer, offset, got);
                            length = unchecked(length + (uint)got);
                            return got;
                        }
                        if (inflater.IsDone)
                            part = Part.Trailer;
                        else if (!await FeedAsync(token).ConfigureAwait(false))
                            throw CutOff();
                    }
                }
                return 0;
            }
            catch (InvalidDataException error)
            {
                var why = "the content is not " + (gzip ? "gzip (RFC 1952): " : "deflate (RFC 1950): ") + error.Message;
                failure = new IOException(why, new CommuteException(CommuteStatus.Protocol, true, why));
                throw failure;
            }
        }

        protected override void Dispose(bool disposing)
        {
            if (disposing)
                encoded.Dispose();
            base.Dispose(disposing);
        }

        async Task StartAsync(CancellationToken token)
        {
            var first = await NextAsync(token).ConfigureAwait(false);
            if (first < 0)
            {
                part = Part.End;
                return;
            }
            // gzip may have several members (RFC 1952 section 2.2), zlib's format only one.
            if (begun && !gzip)
                throw new InvalidDataException("there is more after its end");
            begun = true;
            inflater.Reset();
            length = 0;
            if (gzip)
                await MemberAsync(first, token).ConfigureAwait(false);
            else
                await ZlibAsync(first, token).ConfigureAwait(false);
            part = Part.Data;
        }

        /// <summary>Reads the header of a member (RFC 1952 section 2.3).</summary>
        async Task MemberAsync(int first, CancellationToken token)
        {
            const int Crc = 2, Extra = 4, Name = 8, Comment = 16, Reserved = 0xe0;
            const int Magic = 0x1f, Magic2 = 0x8b, Deflate = 8;
            if (first != Magic || await ByteAsync(token).ConfigureAwait(false) != Magic2)
                throw new InvalidDataException("a member begins with other bytes");
            if (await ByteAsync(token).ConfigureAwait(false) != Deflate)
                throw new InvalidDataException("the method is unknown");
            var flags = await ByteAsync(token).ConfigureAwait(false);
            if ((flags & Reserved) != 0)
                throw new InvalidDataException("a flag is unknown");
            // The time, flags of the compressor, and its system.
            await SkipAsync(6, token).ConfigureAwait(false);
            if ((flags & Extra) != 0)
            {
                var low = await ByteAsync(token).ConfigureAwait(false);
                await SkipAsync(low | await ByteAsync(token).ConfigureAwait(false) << 8, token).ConfigureAwait(false);
            }
            foreach (var text in new[] { Name, Comment })
                if ((flags & text) != 0)
                    while (await ByteAsync(token).ConfigureAwait(false) != 0)
                    {
                    }
            if ((flags & Crc) != 0)
                await SkipAsync(2, token).ConfigureAwait(false);
            checksum = new Checksum.Crc32();
        }

        /// <summary>
        /// Reads zlib's header (RFC 1950 section 2.2). Servers that leave it out, and the checksum with it, are known
        /// (RFC 9110 section 8.4.1.2).
        /// </summary>
        async Task ZlibAsync(int first, CancellationToken token)
        {
            const int Deflate = 8, MaxWindow = 7, Dictionary = 0x20;
            var second = await ByteAsync(token).ConfigureAwait(false);
            if ((first & 15) == Deflate && first >> 4 <= MaxWindow && (first << 8 | second) % 31 == 0)
            {
                if ((second & Dictionary) != 0)
                    throw new InvalidDataException("it needs a dictionary");
                checksum = new Checksum.Adler32();
                return;
            }
            checksum = new Checksum.None();
            inflater.Unread((byte)first, (byte)second);
        }

        async Task TrailerAsync(CancellationToken token)
        {
            if (checksum.Bytes > 0 && await NumberAsync(token).ConfigureAwait(false) != checksum.Value)
                throw new InvalidDataException("the checksum differs");
            if (gzip && await NumberAsync(token).ConfigureAwait(false) != length)
                throw new InvalidDataException("the length differs");
            part = Part.Start;
        }

        /// <summary>Reads four bytes: gzip's are little-endian, zlib's big-endian.</summary>
        async Task<uint> NumberAsync(CancellationToken token)
        {
            uint number = 0;
            for (var index = 0; index < 4; index++)
            {
                var next = (uint)await ByteAsync(token).ConfigureAwait(false);
                number |= next << 8 * (gzip ? index : 3 - index);
            }
            return number;
        }

        async Task SkipAsync(int count, CancellationToken token)
        {
            for (; count > 0; count--)
                await ByteAsync(token).ConfigureAwait(false);
        }

        async Task<int> ByteAsync(CancellationToken token)
        {
            var next = await NextAsync(token).ConfigureAwait(false);
            if (next < 0)
                throw CutOff();
            return next;
        }

        /// <summary>Returns the next byte of the input; -1 at its end.</summary>
        async Task<int> NextAsync(CancellationToken token)
        {
            while (true)
            {
                var next = inflater.TakeByte();
                if (next >= 0 || !await FeedAsync(token).ConfigureAwait(false))
                    return next;
            }
        }

        async Task<bool> FeedAsync(CancellationToken token)
        {
            var got = await encoded.ReadAsync(input, 0, input.Length, token).ConfigureAwait(false);
            inflater.Feed(input, got);
            return got > 0;
        }

        static InvalidDataException CutOff() => new InvalidDataException("it is cut off");
    }
}
