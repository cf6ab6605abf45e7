using System;

namespace Commute
{
    /// <summary>Knows when the connections opened since a reconnect may be closed.</summary>
    sealed class ConnectionGroup
    {
        readonly Action close;
        int calls;
        bool retired;

        /// <param name="close">Closes the connections.</param>
        public ConnectionGroup(Action close)
        {
            this.close = close;
        }

        public void Enter()
        {
            lock (this)
                calls++;
        }

        public void Leave()
        {
            lock (this)
            {
                calls--;
                CloseIfDone();
            }
        }

        /// <summary>
        /// Closes the connections when the calls in flight have ended. There are no new calls.
        /// </summary>
        public void Retire()
        {
            lock (this)
            {
                retired = true;
                CloseIfDone();
            }
        }

        void CloseIfDone()
        {
            if (retired && calls == 0)
                close();
        }
    }
}
