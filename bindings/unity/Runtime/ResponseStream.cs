using System;
using System.IO;
using System.Threading;
using System.Threading.Tasks;

namespace Commute.Client
{
    /// <summary>The body of a response, as it comes. Disposing it before its end cancels the rest.</summary>
    sealed class ResponseStream : ReadStream
    {
        readonly Call call;
        readonly CancellationTokenRegistration cancellation;
        bool ended, disposed;

        /// <param name="call">The call.</param>
        /// <param name="cancellation">What would cancel it; no longer after the body's end.</param>
        public ResponseStream(Call call, CancellationTokenRegistration cancellation)
        {
            this.call = call;
            this.cancellation = cancellation;
        }

        // A response that nobody disposed must not be kept for ever.
        ~ResponseStream()
        {
            call.Release();
        }

        public override bool CanRead => !disposed;

        protected override async Task<int> ReadSomeAsync(byte[] buffer, int offset, int count, CancellationToken token)
        {
            if (disposed)
                throw new ObjectDisposedException("ResponseStream");
            if (token.IsCancellationRequested)
                throw new TaskCanceledException("the read was cancelled");
            if (ended || count == 0)
                return 0;
            using (token.Register(call.Cancel))
                try
                {
                    var got = await call.ReadAsync(buffer, offset, count).ConfigureAwait(false);
                    if (got == 0)
                    {
                        ended = true;
                        End();
                    }
                    return got;
                }
                catch (Exception error)
                {
                    if (disposed)
                        throw new ObjectDisposedException("ResponseStream", error);
                    if (token.IsCancellationRequested || (error as CommuteException)?.Status == CommuteStatus.Cancelled)
                        throw new TaskCanceledException("the response was cancelled", error);
                    throw new IOException(error.Message, error);
                }
        }

        protected override void Dispose(bool disposing)
        {
            disposed = true;
            End();
            base.Dispose(disposing);
        }

        void End()
        {
            cancellation.Dispose();
            call.Release();
            GC.SuppressFinalize(this);
        }
    }
}
