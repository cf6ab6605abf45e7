using System;
using System.Runtime.InteropServices;

namespace Commute
{
    /// <summary>CLOCK_MONOTONIC, which Mono's Stopwatch reads only in steps of 100 ns.</summary>
    static class Clock
    {
        const int Monotonic = 1;

        /// <summary>Returns CLOCK_MONOTONIC in nanoseconds.</summary>
        public static long NowNs()
        {
            clock_gettime(Monotonic, out var now);
            return now.Seconds * 1000000000 + now.Nanoseconds;
        }

        /// <summary>Sleeps for that many nanoseconds.</summary>
        public static void SleepNs(long ns)
        {
            var time = new TimeSpec { Seconds = ns / 1000000000, Nanoseconds = ns % 1000000000 };
            nanosleep(ref time, IntPtr.Zero);
        }

        // The layout on 64-bit Linux.
        struct TimeSpec
        {
            public long Seconds, Nanoseconds;
        }

        [DllImport("libc")]
        static extern int clock_gettime(int clock, out TimeSpec time);

        [DllImport("libc")]
        static extern int nanosleep(ref TimeSpec time, IntPtr rest);
    }
}
