// What both programs of this folder need to talk to the lab.

using System;
using System.IO;
using System.Text;

namespace Commute
{
    /// <summary>The two pipes that the environment names, with one JSON object per line.</summary>
    static class Pipes
    {
        /// <summary>
        /// Opens the pipe of requests. Mono's FileStream waits until its buffer is full; a buffer
        /// too small to be used makes reads return what has arrived.
        /// </summary>
        public static StreamReader Requests()
        {
            const int NoBuffer = 1, Buffer = 65536;
            var pipe = new FileStream(Named("COMMUTE_IN"), FileMode.Open, FileAccess.Read, FileShare.ReadWrite, NoBuffer);
            return new StreamReader(pipe, new UTF8Encoding(false), false, Buffer);
        }

        /// <summary>Opens the pipe of replies.</summary>
        public static StreamWriter Replies() => new StreamWriter(Named("COMMUTE_OUT")) { NewLine = "\n", AutoFlush = true };

        static string Named(string name) =>
            Environment.GetEnvironmentVariable(name) ?? throw new FailedException(name + " is not set: commute starts this program");
    }

    /// <summary>
    /// Thrown for invalid requests, missing files and other failures; answered with <c>failed</c>.
    /// </summary>
    sealed class FailedException : Exception
    {
        public FailedException(string reason) : base(reason) { }
    }

    /// <summary>
    /// Thrown for what this program does not know or support; answered with <c>unsupported</c>.
    /// </summary>
    sealed class UnsupportedException : Exception
    {
        public readonly string What;

        public UnsupportedException(string what, string reason) : base(reason)
        {
            What = what;
        }
    }
}
