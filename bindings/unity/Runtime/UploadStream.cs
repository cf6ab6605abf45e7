using System;
using System.IO;
using System.Threading;
using System.Threading.Tasks;

namespace Commute.Client
{
    /// <summary>Where an HttpContent writes the body of a request. Writing waits for room.</summary>
    sealed class UploadStream : Stream
    {
        readonly Call call;

        public UploadStream(Call call)
        {
            this.call = call;
        }

        public override bool CanRead => false;
        public override bool CanSeek => false;
        public override bool CanWrite => true;
        public override long Length => throw new NotSupportedException();
        public override long Position
        {
            get { throw new NotSupportedException(); }
            set { throw new NotSupportedException(); }
        }

        public override async Task WriteAsync(byte[] buffer, int offset, int count, CancellationToken token)
        {
            token.ThrowIfCancellationRequested();
            // What the server no longer wants is dropped: its response says why.
            await call.WriteAsync(buffer, offset, count).ConfigureAwait(false);
        }

        public override void Write(byte[] buffer, int offset, int count) =>
            WriteAsync(buffer, offset, count, CancellationToken.None).GetAwaiter().GetResult();

        public override void Flush()
        {
        }

        public override Task FlushAsync(CancellationToken token) => Task.FromResult(true);
        public override int Read(byte[] buffer, int offset, int count) => throw new NotSupportedException();
        public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();
        public override void SetLength(long value) => throw new NotSupportedException();
    }
}
