// The engine: starts steps by their rules, ends calls, sends rows by their groups.

using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using Newtonsoft.Json.Linq;

namespace Commute
{
    /// One run. All of it happens on the thread that follows it; calls only post their ends.
    sealed class Run
    {
        readonly Session session;
        readonly List<Step> steps;
        readonly List<Call> calls;
        readonly Dictionary<int, List<int>> followers = new Dictionary<int, List<int>>();
        readonly HashSet<int> sequential = new HashSet<int>();
        readonly Dictionary<long, int> owed = new Dictionary<long, int>();

        readonly Queue<int> ready = new Queue<int>();
        readonly Timers timers = new Timers();
        readonly Inbox inbox = new Inbox();
        readonly Dictionary<int, List<Timer>> underWay = new Dictionary<int, List<Timer>>();
        readonly List<int> over = new List<int>();
        readonly List<int> unsent = new List<int>();
        readonly bool[] ended;
        int prefix;
        long beginNs;

        public Run(Session session, List<Step> steps)
        {
            this.session = session;
            this.steps = steps;
            ended = new bool[steps.Count];
            Order();
            calls = session.Prepare(steps);
            foreach (var step in steps.Where(step => step.IsCall))
                owed[step.Group] = (owed.TryGetValue(step.Group, out var count) ? count : 0) + 1;
        }

        /// What each step waits for.
        void Order()
        {
            var places = new Dictionary<long, int>();
            long before = 0;
            for (var place = 0; place < steps.Count; place++)
            {
                var step = steps[place];
                if (step.Id <= before)
                    throw new Failed($"step {step.Id} comes after step {before}: ids start at 1 and grow");
                before = step.Id;
                places[step.Id] = place;
                if (step.AtNs != null)
                    continue;
                if (step.After == null)
                    sequential.Add(place);
                else if (step.After == 0)
                    ready.Enqueue(place);
                else if (step.After < step.Id && places.TryGetValue(step.After.Value, out var leader))
                    Followers(leader).Add(place);
                else
                    throw new Failed($"step {step.Id} waits for step {step.After}, which is not an earlier step");
            }
        }

        List<int> Followers(int place)
        {
            if (!followers.TryGetValue(place, out var list))
                followers[place] = list = new List<int>();
            return list;
        }

        public void Follow(Action<JObject> send)
        {
            GC.Collect();
            beginNs = Clock.NowNs();
            for (var place = 0; place < steps.Count; place++)
                if (steps[place].AtNs is long atNs)
                    StartAt(beginNs + atNs, place);
            if (sequential.Contains(0))
                ready.Enqueue(0);
            while (true)
            {
                while (ready.Count > 0)
                    Start(ready.Dequeue());
                if (over.Count > 0 && underWay.Count == 0 && timers.NextNs == null)
                    Report(send);
                foreach (var place in over)
                    Release(place);
                over.Clear();
                if (ready.Count > 0)
                    continue;
                if (underWay.Count == 0 && timers.NextNs == null)
                    return;
                foreach (var place in inbox.Take(timers.NextNs))
                    End(place);
                timers.Fire();
            }
        }

        void StartAt(long ns, int place) => timers.Add(ns, () => ready.Enqueue(place));

        void Start(int place)
        {
            var step = steps[place];
            if (step.Kind == "reconnect")
            {
                session.Reconnect(step.Mode);
                over.Add(place);
                return;
            }
            var nowNs = Clock.NowNs();
            if (step.Kind == "pause")
            {
                timers.Add(nowNs + step.PauseNs, () => over.Add(place));
                return;
            }
            underWay.Add(place, new List<Timer>());
            Limit(place, nowNs, session.Setup.TimeoutNs, "timeout");
            if (step.CancelAfterNs is long afterNs)
                Limit(place, nowNs, afterNs, "cancelled");
            calls[place].Start(() => inbox.Post(place));
        }

        /// Gives a call up when it has lasted so long. Until it has begun, on its own thread, it
        /// is held to begin now.
        void Limit(int place, long startNs, long lastsNs, string kind)
        {
            underWay[place].Add(timers.Add(startNs + lastsNs, () =>
            {
                var begunNs = calls[place].Row.StartNs;
                if (begunNs > startNs)
                    Limit(place, begunNs, lastsNs, kind);
                else
                    calls[place].GiveUp(kind);
            }));
        }

        /// The library has ended a call; the application sees that now, or at its next frame.
        void End(int place)
        {
            underWay[place].ForEach(timers.Remove);
            if (session.Setup.FramesPerSecond == 0)
                Over(place);
            else
                timers.Add(NextFrameNs(calls[place].Row.EndNs), () =>
                {
                    calls[place].Row.EndNs = LastFrameNs(Clock.NowNs());
                    Over(place);
                });
        }

        void Over(int place)
        {
            underWay.Remove(place);
            unsent.Add(place);
            over.Add(place);
        }

        /// Frames come at a fixed beat from the run's beginning.
        long NextFrameNs(long ns) => FrameNs((ns - beginNs) * session.Setup.FramesPerSecond / Second + 1);

        long LastFrameNs(long ns) => FrameNs((ns - beginNs) * session.Setup.FramesPerSecond / Second);

        // Rounded up, so that no frame is earlier than its beat.
        long FrameNs(long frame) =>
            beginNs + (frame * Second + session.Setup.FramesPerSecond - 1) / session.Setup.FramesPerSecond;

        /// Lets those start that waited for this step.
        void Release(int place)
        {
            ended[place] = true;
            if (followers.TryGetValue(place, out var list))
                list.ForEach(ready.Enqueue);
            while (prefix < ended.Length && ended[prefix])
            {
                prefix++;
                if (sequential.Contains(prefix))
                    ready.Enqueue(prefix);
            }
        }

        void Report(Action<JObject> send)
        {
            foreach (var group in unsent.GroupBy(place => steps[place].Group).OrderBy(group => group.Key).ToList())
            {
                if (group.Count() < owed[group.Key])
                    continue;
                foreach (var place in group)
                {
                    calls[place].Settle();
                    send(calls[place].Row.ToJson(calls[place].Response));
                    calls[place] = null;
                }
                unsent.RemoveAll(place => steps[place].Group == group.Key);
            }
        }

        const long Second = 1000000000;
    }

    sealed class Timer
    {
        public long DueNs, Order;
        public Action Fire;
    }

    sealed class Timers
    {
        readonly SortedSet<Timer> waiting = new SortedSet<Timer>(Comparer<Timer>.Create((a, b) =>
            a.DueNs != b.DueNs ? a.DueNs.CompareTo(b.DueNs) : a.Order.CompareTo(b.Order)));
        long made;

        public long? NextNs => waiting.Count == 0 ? null : (long?)waiting.Min.DueNs;

        public Timer Add(long dueNs, Action fire)
        {
            var timer = new Timer { DueNs = dueNs, Order = ++made, Fire = fire };
            waiting.Add(timer);
            return timer;
        }

        public void Remove(Timer timer) => waiting.Remove(timer);

        public void Fire()
        {
            var nowNs = Clock.NowNs();
            while (NextNs <= nowNs)
            {
                var timer = waiting.Min;
                waiting.Remove(timer);
                timer.Fire();
            }
        }
    }

    /// Where calls post their ends.
    sealed class Inbox
    {
        const long Millisecond = 1000000;

        readonly object door = new object();
        List<int> posted = new List<int>();

        public void Post(int place)
        {
            lock (door)
            {
                posted.Add(place);
                Monitor.Pulse(door);
            }
        }

        /// What was posted; waits for it, but not beyond a time if one is given.
        public List<int> Take(long? untilNs)
        {
            lock (door)
            {
                while (posted.Count == 0)
                {
                    var leftNs = untilNs - Clock.NowNs() ?? long.MaxValue;
                    if (leftNs < Millisecond)
                        break;
                    Monitor.Wait(door, (int)Math.Min(leftNs / Millisecond, int.MaxValue));
                }
                if (posted.Count > 0)
                {
                    var taken = posted;
                    posted = new List<int>();
                    return taken;
                }
            }
            // Monitors wait whole milliseconds; the rest is slept.
            var restNs = untilNs.Value - Clock.NowNs();
            if (restNs > 0)
                Clock.SleepNs(restNs);
            return new List<int>();
        }
    }
}
