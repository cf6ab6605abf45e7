using System;
using System.IO;
using System.Threading;
using System.Threading.Tasks;

namespace Commute.Client
{
    /// <summary>A stream that can be read once, from its beginning to its end.</summary>
    abstract class ReadStream : Stream
    {
        public override bool CanSeek => false;
        public override bool CanWrite => false;
        public override long Length => throw new NotSupportedException();
        public override long Position
        {
            get { throw new NotSupportedException(); }
            set { throw new NotSupportedException(); }
        }

        public override Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken token)
        {
            if (buffer == null)
                throw new ArgumentNullException("buffer");
            if (offset < 0 || count < 0 || count > buffer.Length - offset)
                throw new ArgumentOutOfRangeException("count");
            return ReadSomeAsync(buffer, offset, count, token);
        }

        /// <summary>Reads at least one byte, unless the stream ends or <paramref name="count"/> is 0.</summary>
        protected abstract Task<int> ReadSomeAsync(byte[] buffer, int offset, int count, CancellationToken token);

        public override int Read(byte[] buffer, int offset, int count) =>
            ReadAsync(buffer, offset, count, CancellationToken.None).GetAwaiter().GetResult();

        public override void Flush()
        {
        }

        public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();
        public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();
        public override void SetLength(long value) => throw new NotSupportedException();
    }
}
