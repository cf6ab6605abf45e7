using System;
using System.Collections.Concurrent;
using System.Threading;

namespace Commute
{
    /// Threads for calls that block. Mono's own pool adds no more than ten threads a second.
    sealed class Workers : IDisposable
    {
        readonly BlockingCollection<Action> work = new BlockingCollection<Action>();
        int idle;

        public void Do(Action action)
        {
            if (Interlocked.Decrement(ref idle) < 0)
            {
                Interlocked.Increment(ref idle);
                new Thread(Serve) { IsBackground = true }.Start();
            }
            work.Add(action);
        }

        /// The threads end with what they are at.
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
