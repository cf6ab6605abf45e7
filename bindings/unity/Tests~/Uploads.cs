using System;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Security.Cryptography;
using System.Threading;
using System.Threading.Tasks;
using Commute.Client;

namespace CommuteTests
{
    /// <summary>Bodies that are streamed.</summary>
    public static class Uploads
    {
        public static async Task UploadsAreStreamed()
        {
            const int bytes = 20000000;
            var body = new byte[bytes];
            new Random(7).NextBytes(body);
            string digest;
            using (var sha256 = SHA256.Create())
                digest = BitConverter.ToString(sha256.ComputeHash(body)).Replace("-", "").ToLowerInvariant();
            using (var client = Calls.Client(Setting.ForServer()))
            {
                var source = new Counting(new MemoryStream(body));
                using (var response = await client.PutAsync("upload", new StreamContent(source)))
                    Expect.True((await response.Content.ReadAsStringAsync()).Contains(digest), "the digest is another");
            }
        }

        public static async Task AnUploadWaitsForTheServer()
        {
            using (var client = Calls.Client(Setting.ForSite(), Setting.Site))
            {
                var source = new Counting(new MemoryStream(new byte[100000000]));
                using (var cancel = new CancellationTokenSource(1000))
                    await Expect.Throws<OperationCanceledException>(
                        () => client.PostAsync("stall", new StreamContent(source), cancel.Token));
                // The server reads nothing: windows and buffers fill, and no more is read here.
                Expect.True(source.Bytes < 20000000, source.Bytes + " bytes were read from the body");
            }
        }

        public static async Task ARedirectInMidUploadSendsTheBodyOnceMore()
        {
            var body = new byte[200000];
            new Random(7).NextBytes(body);
            using (var client = Calls.Client(Setting.ForSite(), Setting.Site))
            using (var response = await client.PostAsync("to/307?location=/echo", new StreamContent(new Slow(body))))
            {
                var echo = await response.Content.ReadAsByteArrayAsync();
                Expect.True(echo.Skip("POST\n".Length).SequenceEqual(body), "another body of " + echo.Length + " bytes");
            }
        }

        public static async Task ARedirectWhoseBodyNeverComesIsCancelled()
        {
            using (var client = Calls.Client(Setting.ForSite(), Setting.Site))
            using (var cancel = new CancellationTokenSource(1000))
                await Expect.Throws<OperationCanceledException>(() => client.PostAsync(
                    "to/307?location=/echo", new StreamContent(new Slow(new byte[200000], Timeout.Infinite)), cancel.Token));
        }
    }

    /// <summary>Gives each piece after a while, and can be read again.</summary>
    sealed class Slow : Stream
    {
        // A MemoryStream itself may be read without a call of ReadAsync.
        readonly MemoryStream inner;
        readonly int pauseMs;

        public Slow(byte[] bytes, int pauseMs = 50)
        {
            inner = new MemoryStream(bytes);
            this.pauseMs = pauseMs;
        }

        public override bool CanRead => true;
        public override bool CanSeek => true;
        public override bool CanWrite => false;
        public override long Length => inner.Length;
        public override long Position
        {
            get { return inner.Position; }
            set { inner.Position = value; }
        }

        public override async Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken token)
        {
            await Task.Delay(pauseMs);
            return inner.Read(buffer, offset, count);
        }

        public override int Read(byte[] buffer, int offset, int count) => inner.Read(buffer, offset, count);
        public override long Seek(long offset, SeekOrigin origin) => inner.Seek(offset, origin);

        public override void Flush()
        {
        }

        public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();
        public override void SetLength(long value) => throw new NotSupportedException();
    }

    /// <summary>Counts what is read, and cannot tell its length.</summary>
    sealed class Counting : Stream
    {
        readonly Stream inner;
        long bytes;

        public Counting(Stream inner)
        {
            this.inner = inner;
        }

        public long Bytes => Interlocked.Read(ref bytes);
        public override bool CanRead => true;
        public override bool CanSeek => false;
        public override bool CanWrite => false;
        public override long Length => throw new NotSupportedException();
        public override long Position
        {
            get { throw new NotSupportedException(); }
            set { throw new NotSupportedException(); }
        }

        public override int Read(byte[] buffer, int offset, int count)
        {
            var got = inner.Read(buffer, offset, count);
            Interlocked.Add(ref bytes, got);
            return got;
        }

        public override void Flush()
        {
        }

        public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();
        public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();
        public override void SetLength(long value) => throw new NotSupportedException();
    }
}
