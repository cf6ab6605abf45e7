// What every program of this folder needs to talk with the lab.

using System;
using System.IO;
using System.Text;

namespace Commute
{
    /// The two pipes that the environment names, a JSON object a line.
    static class Pipes
    {
        /// Mono's FileStream has a buffer that it fills to the brim, however long a pipe lets it
        /// wait; one too small to be used hands on what has come.
        public static StreamReader Requests()
        {
            const int NoBuffer = 1, Buffer = 65536;
            var pipe = new FileStream(Named("COMMUTE_IN"), FileMode.Open, FileAccess.Read, FileShare.ReadWrite, NoBuffer);
            return new StreamReader(pipe, new UTF8Encoding(false), false, Buffer);
        }

        public static StreamWriter Replies() => new StreamWriter(Named("COMMUTE_OUT")) { NewLine = "\n", AutoFlush = true };

        static string Named(string name) =>
            Environment.GetEnvironmentVariable(name) ?? throw new Failed(name + " names no pipe; commute starts this program");
    }

    /// The request makes no sense, or what it names is not there.
    sealed class Failed : Exception
    {
        public Failed(string reason) : base(reason) { }
    }

    /// This program cannot do it; it is well.
    sealed class Unsupported : Exception
    {
        public readonly string What;

        public Unsupported(string what, string reason) : base(reason)
        {
            What = what;
        }
    }
}
