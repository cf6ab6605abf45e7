using System;

namespace Commute.Client
{
    /// <summary>Outcomes of calls, as in <c>commute.h</c>.</summary>
    public enum CommuteStatus
    {
        /// <summary>Done.</summary>
        Ok = 0,
        /// <summary>Nothing now.</summary>
        Again = 1,
        /// <summary>There is no more.</summary>
        End = 2,
        /// <summary>An argument, URL or header is not one.</summary>
        Argument = -1,
        /// <summary>The engine was closed.</summary>
        Closed = -2,
        /// <summary>No such call.</summary>
        NoCall = -3,
        /// <summary>A buffer is too small.</summary>
        Room = -4,
        /// <summary>More calls at a time than are kept.</summary>
        TooMany = -5,
        /// <summary>The platform gave no thread, socket or random numbers.</summary>
        Platform = -6,
        /// <summary>The engine was made before fork(2) and belongs to the parent process.</summary>
        Forked = -7,
        /// <summary>The thread that runs <c>EngineOptions.CheckChain</c> would wait for itself.</summary>
        ChainWaits = -8,
        /// <summary>The name could not be resolved.</summary>
        Name = -10,
        /// <summary>No connection.</summary>
        Connect = -11,
        /// <summary>The TLS handshake failed.</summary>
        Tls = -12,
        /// <summary>The certificate was refused.</summary>
        Certificate = -13,
        /// <summary>A time limit passed; the message names the phase.</summary>
        Timeout = -14,
        /// <summary>The connection broke or the request was reset.</summary>
        Reset = -15,
        /// <summary>The peer broke the protocol.</summary>
        Protocol = -16,
        /// <summary>Cancelled.</summary>
        Cancelled = -17,
        /// <summary>The device has no network.</summary>
        Offline = -18,
        /// <summary>The engine is switched off, or turned itself off (<c>WorkedWithout</c>).</summary>
        Plain = -19,
        /// <summary>A bug: the engine panicked.</summary>
        Panic = -90,
    }

    /// <summary>
    /// Why a request failed. It is the inner exception of the <c>HttpRequestException</c> or
    /// <c>IOException</c> that HttpClient's callers expect.
    /// </summary>
    public sealed class CommuteException : Exception
    {
        /// <summary>What went wrong.</summary>
        public CommuteStatus Status { get; }

        /// <summary>Whether the server may have acted on the request. If not, it is safe to send it again.</summary>
        public bool MayHaveActed { get; }

        internal CommuteException(CommuteStatus status, bool mayHaveActed, string message) : base(message)
        {
            Status = status;
            MayHaveActed = mayHaveActed;
        }

        internal static CommuteException Of(int status, bool mayHaveActed) =>
            new CommuteException((CommuteStatus)status, mayHaveActed, Describe((CommuteStatus)status));

        static string Describe(CommuteStatus status)
        {
            switch (status)
            {
                case CommuteStatus.Closed: return "the engine was closed";
                case CommuteStatus.Forked: return "the engine belongs to the parent process";
                case CommuteStatus.ChainWaits: return "CheckChain must return before the engine can do this";
                case CommuteStatus.TooMany: return "too many requests at a time";
                case CommuteStatus.Argument: return "an argument is not valid";
                case CommuteStatus.Panic: return "a bug: the engine panicked and is of no more use";
                default: return "the call failed: " + status;
            }
        }
    }
}
