// What the engine asks of a library; one adapter implements it for each.

using System;
using System.Collections.Generic;
using System.Linq;
using Newtonsoft.Json.Linq;

namespace Commute
{
    abstract class Stack
    {
        public abstract JObject Hello();

        /// A session with the setup's origin, after its warm-up with another.
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
                new Run(session, steps).Follow(row =>
                {
                    if (row["error"] is JObject error)
                        throw new Failed("warm-up: " + error.Text("detail"));
                });
        }
    }

    /// One origin and the connections to it.
    abstract class Session : IDisposable
    {
        public readonly Setup Setup;

        protected Session(Setup setup)
        {
            Setup = setup;
        }

        /// For each step its call, made so that it need only be started; null for other steps.
        public abstract List<Call> Prepare(List<Step> steps);

        /// Closes every connection, each when the calls on it have ended; the next are opened in `mode`.
        public abstract void Reconnect(string mode);

        public abstract void Dispose();
    }

    abstract class Call
    {
        public readonly Row Row = new Row();
        public readonly Body Response = new Body();
        protected readonly Step Step;
        /// What the call exchanges; null if its step is another.
        protected readonly Exchange Exchange;

        protected Call(Session session, Step step)
        {
            Step = step;
            Row.Id = step.Id;
            if (step.Kind == "exchange")
                Exchange = session.Setup.Messages.Prepare(step);
        }

        /// Returns at once; `ended` is called from any thread when the row is complete.
        public abstract void Start(Action ended);

        /// Fills in what other calls had to end for; none is under way.
        public virtual void Settle() => Exchange?.Compare(Row);

        /// Abandons the call, which ends soon with an error of this kind, unless it has ended already.
        public abstract void GiveUp(string kind);
    }
}
