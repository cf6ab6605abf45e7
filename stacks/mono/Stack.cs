// The engine's interface to a library. Each library has an adapter that implements it.

using System;
using System.Collections.Generic;
using System.Linq;
using Newtonsoft.Json.Linq;

namespace Commute
{
    /// <summary>A client library.</summary>
    abstract class Stack
    {
        /// <summary>Returns the reply to <c>hello</c>.</summary>
        public abstract JObject Hello();

        /// <summary>Runs the warm-up, if there is one, and opens a session with the setup's origin.</summary>
        public Session Open(Setup setup)
        {
            if (setup.WarmupUrl != null)
                WarmUp(setup);
            return NewSession(setup);
        }

        protected abstract Session NewSession(Setup setup);

        void WarmUp(Setup setup)
        {
            var steps = Enumerable.Range(1, checked((int)setup.WarmupCalls)).Select(id => Step.Get(id, 1)).ToList();
            using (var session = NewSession(new Setup(setup)))
                new Run(session, steps).Execute(row =>
                {
                    if (row["error"] is JObject error)
                        throw new FailedException("warm-up: " + error.Text("detail"));
                });
        }
    }

    /// <summary>One origin and the connections to it.</summary>
    abstract class Session : IDisposable
    {
        public readonly Setup Setup;

        protected Session(Setup setup)
        {
            Setup = setup;
        }

        /// <summary>Returns each step's call, ready to be started; null for steps that are not calls.</summary>
        public abstract List<Call> Prepare(List<Step> steps);

        /// <summary>
        /// Closes every connection when the calls on it have ended. New ones are opened in
        /// <c>mode</c>.
        /// </summary>
        public abstract void Reconnect(string mode);

        /// <summary>Closes all connections and threads.</summary>
        public abstract void Dispose();
    }

    /// <summary>One call.</summary>
    abstract class Call
    {
        public readonly Row Row = new Row();
        public readonly ResponseBody Response = new ResponseBody();
        protected readonly Step Step;
        /// <summary>The exchange of an <c>exchange</c> step; else null.</summary>
        protected readonly Exchange Exchange;

        protected Call(Session session, Step step)
        {
            Step = step;
            Row.Id = step.Id;
            if (step.Kind == "exchange")
                Exchange = session.Setup.Messages.Prepare(step);
        }

        /// <summary>
        /// Starts the call and returns. <c>ended</c> is called, from any thread, when the row is
        /// complete.
        /// </summary>
        public abstract void Start(Action ended);

        /// <summary>Completes the row when no call is in flight.</summary>
        public virtual void Finish() => Exchange?.Compare(Row);

        /// <summary>Makes the call end soon with an error of this kind, unless it has ended already.</summary>
        public abstract void Abort(string kind);
    }
}
