using System;
using System.Collections.Concurrent;
using System.Threading;

namespace Commute
{
    /// <summary>Threads for blocking calls. Mono's own pool adds at most ten threads per second.</summary>
    sealed class Workers : IDisposable
    {
        readonly BlockingCollection<Action> work = new BlockingCollection<Action>();
        int idle;

        /// <summary>Runs an action on an idle thread, or on a new one.</summary>
        public void Run(Action action)
        {
            if (Interlocked.Decrement(ref idle) < 0)
            {
                Interlocked.Increment(ref idle);
                new Thread(Serve) { IsBackground = true }.Start();
            }
            work.Add(action);
        }

        /// <summary>Ends the threads after their current actions.</summary>
        public void Dispose() => work.CompleteAdding();

        void Serve()
        {
            foreach (var action in work.GetConsumingEnumerable())
            {
                action();
                Interlocked.Increment(ref idle);
            }
        }
    }
}
