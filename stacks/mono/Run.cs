// The engine: starts steps by their rules, ends calls, and sends rows by group.

using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using Newtonsoft.Json.Linq;

namespace Commute
{
    /// <summary>
    /// One run. Everything happens on the thread that executes it; calls only post their ends.
    /// </summary>
    sealed class Run
    {
        const long SecondNs = 1000000000;

        readonly Session session;
        readonly List<Step> steps;
        readonly List<Call> calls;
        readonly Dictionary<int, List<int>> followers = new Dictionary<int, List<int>>();
        readonly HashSet<int> sequential = new HashSet<int>();
        readonly Dictionary<long, int> groupSizes = new Dictionary<long, int>();

        readonly Queue<int> ready = new Queue<int>();
        readonly Timers timers = new Timers();
        readonly EndQueue ends = new EndQueue();
        readonly Dictionary<int, List<Timer>> inFlight = new Dictionary<int, List<Timer>>();
        readonly List<int> justEnded = new List<int>();
        readonly List<int> unreported = new List<int>();
        readonly bool[] ended;
        /// <summary>When each step ended; 0 before.</summary>
        readonly long[] endedNs;
        /// <summary>The step that a step's limit counts from; -1 for the start of the run.</summary>
        readonly Dictionary<int, int> limits = new Dictionary<int, int>();
        int prefix;
        long beginNs;

        public Run(Session session, List<Step> steps)
        {
            this.session = session;
            this.steps = steps;
            ended = new bool[steps.Count];
            endedNs = new long[steps.Count];
            BuildSchedule();
            calls = session.Prepare(steps);
            foreach (var step in steps.Where(step => step.IsCall))
                groupSizes[step.Group] = (groupSizes.TryGetValue(step.Group, out var count) ? count : 0) + 1;
        }

        /// <summary>Determines what each step waits for.</summary>
        void BuildSchedule()
        {
            var indexes = new Dictionary<long, int>();
            long previous = 0;
            for (var index = 0; index < steps.Count; index++)
            {
                var step = steps[index];
                if (step.Id <= previous)
                    throw new FailedException($"step {step.Id} follows step {previous}: ids must start at 1 and increase");
                previous = step.Id;
                if (step.UntilAfter is long limit)
                {
                    if (limit != 0 && !indexes.ContainsKey(limit))
                        throw new FailedException($"step {step.Id} has a limit after step {limit}, which is not an earlier step");
                    limits[index] = limit == 0 ? -1 : indexes[limit];
                }
                indexes[step.Id] = index;
                if (step.AtNs != null)
                    continue;
                if (step.After == null)
                    sequential.Add(index);
                else if (step.After == 0)
                    ready.Enqueue(index);
                else if (step.After < step.Id && indexes.TryGetValue(step.After.Value, out var leader))
                    Followers(leader).Add(index);
                else
                    throw new FailedException($"step {step.Id} waits for step {step.After}, which is not an earlier step");
            }
        }

        List<int> Followers(int index)
        {
            if (!followers.TryGetValue(index, out var list))
                followers[index] = list = new List<int>();
            return list;
        }

        /// <summary>Executes all steps and sends their rows.</summary>
        public void Execute(Action<JObject> send)
        {
            GC.Collect();
            beginNs = Clock.NowNs();
            for (var index = 0; index < steps.Count; index++)
                if (steps[index].AtNs is long atNs)
                    StartAt(beginNs + atNs, index);
            if (sequential.Contains(0))
                ready.Enqueue(0);
            while (true)
            {
                while (ready.Count > 0)
                    Start(ready.Dequeue());
                if (justEnded.Count > 0 && inFlight.Count == 0 && timers.NextNs == null)
                    Report(send);
                foreach (var index in justEnded)
                    Release(index);
                justEnded.Clear();
                if (ready.Count > 0)
                    continue;
                if (inFlight.Count == 0 && timers.NextNs == null)
                    return;
                foreach (var index in ends.Take(timers.NextNs))
                    End(index);
                timers.Fire();
            }
        }

        void StartAt(long ns, int index) => timers.Add(ns, () => ready.Enqueue(index));

        void Start(int index)
        {
            var step = steps[index];
            var nowNs = Clock.NowNs();
            if (IsLate(index, nowNs))
            {
                if (step.IsCall)
                    groupSizes[step.Group]--;
                MarkEnded(index);
                return;
            }
            if (step.Kind == "reconnect")
            {
                session.Reconnect(step.Mode);
                MarkEnded(index);
                return;
            }
            if (step.Kind == "pause")
            {
                timers.Add(nowNs + step.PauseNs, () => MarkEnded(index));
                return;
            }
            inFlight.Add(index, new List<Timer>());
            StartTimeout(index, nowNs, session.Setup.TimeoutNs, "timeout");
            if (step.CancelAfterNs is long afterNs)
                StartTimeout(index, nowNs, afterNs, "cancelled");
            calls[index].Start(() => ends.Post(index));
        }

        bool IsLate(int index, long nowNs)
        {
            if (!limits.TryGetValue(index, out var from) || from >= 0 && endedNs[from] == 0)
                return false;
            return nowNs - (from < 0 ? beginNs : endedNs[from]) > steps[index].UntilNs;
        }

        void MarkEnded(int index)
        {
            endedNs[index] = Clock.NowNs();
            justEnded.Add(index);
        }

        /// <summary>
        /// Aborts a call that has lasted for <c>durationNs</c>. Until it has started, on its own
        /// thread, its start is taken to be <c>startNs</c>.
        /// </summary>
        void StartTimeout(int index, long startNs, long durationNs, string kind)
        {
            inFlight[index].Add(timers.Add(startNs + durationNs, () =>
            {
                var actualStartNs = calls[index].Row.StartNs;
                if (actualStartNs > startNs)
                    StartTimeout(index, actualStartNs, durationNs, kind);
                else
                    calls[index].Abort(kind);
            }));
        }

        /// <summary>
        /// Handles a call that the library has ended. The application sees it now, or at its next
        /// frame.
        /// </summary>
        void End(int index)
        {
            inFlight[index].ForEach(timers.Remove);
            if (session.Setup.FramesPerSecond == 0)
                EndStep(index);
            else
                timers.Add(NextFrameNs(calls[index].Row.EndNs), () =>
                {
                    calls[index].Row.EndNs = LastFrameNs(Clock.NowNs());
                    EndStep(index);
                });
        }

        void EndStep(int index)
        {
            inFlight.Remove(index);
            unreported.Add(index);
            MarkEnded(index);
        }

        /// <summary>Frames come at a fixed rate from the start of the run.</summary>
        long NextFrameNs(long ns) => FrameNs((ns - beginNs) * session.Setup.FramesPerSecond / SecondNs + 1);

        long LastFrameNs(long ns) => FrameNs((ns - beginNs) * session.Setup.FramesPerSecond / SecondNs);

        // Rounded up, so that no frame comes early.
        long FrameNs(long frame) =>
            beginNs + (frame * SecondNs + session.Setup.FramesPerSecond - 1) / session.Setup.FramesPerSecond;

        /// <summary>Lets the steps start that waited for this one.</summary>
        void Release(int index)
        {
            ended[index] = true;
            if (followers.TryGetValue(index, out var list))
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
            foreach (var group in unreported.GroupBy(index => steps[index].Group).OrderBy(group => group.Key).ToList())
            {
                if (group.Count() < groupSizes[group.Key])
                    continue;
                foreach (var index in group)
                {
                    calls[index].Finish();
                    send(calls[index].Row.ToJson(calls[index].Response));
                    calls[index] = null;
                }
                unreported.RemoveAll(index => steps[index].Group == group.Key);
            }
        }
    }

    /// <summary>An action due at a time of CLOCK_MONOTONIC. <c>Order</c> breaks ties.</summary>
    sealed class Timer
    {
        public long DueNs, Order;
        public Action Fire;
    }

    /// <summary>Timers in the order of their times.</summary>
    sealed class Timers
    {
        readonly SortedSet<Timer> waiting = new SortedSet<Timer>(Comparer<Timer>.Create((a, b) =>
            a.DueNs != b.DueNs ? a.DueNs.CompareTo(b.DueNs) : a.Order.CompareTo(b.Order)));
        long count;

        public long? NextNs => waiting.Count == 0 ? null : (long?)waiting.Min.DueNs;

        public Timer Add(long dueNs, Action fire)
        {
            var timer = new Timer { DueNs = dueNs, Order = ++count, Fire = fire };
            waiting.Add(timer);
            return timer;
        }

        public void Remove(Timer timer) => waiting.Remove(timer);

        /// <summary>Runs the actions that are due.</summary>
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

    /// <summary>The queue to which calls post their ends, by step index.</summary>
    sealed class EndQueue
    {
        const long MillisecondNs = 1000000;

        readonly object gate = new object();
        List<int> posted = new List<int>();

        /// <summary>Posts the end of a call, from any thread.</summary>
        public void Post(int index)
        {
            lock (gate)
            {
                posted.Add(index);
                Monitor.Pulse(gate);
            }
        }

        /// <summary>
        /// Returns what was posted. Waits until there is something, or until <c>untilNs</c> if it
        /// is given.
        /// </summary>
        public List<int> Take(long? untilNs)
        {
            lock (gate)
            {
                while (posted.Count == 0)
                {
                    var leftNs = untilNs - Clock.NowNs() ?? long.MaxValue;
                    if (leftNs < MillisecondNs)
                        break;
                    Monitor.Wait(gate, (int)Math.Min(leftNs / MillisecondNs, int.MaxValue));
                }
                if (posted.Count > 0)
                {
                    var taken = posted;
                    posted = new List<int>();
                    return taken;
                }
            }
            // Monitors wait for whole milliseconds; sleep for the rest.
            var restNs = untilNs.Value - Clock.NowNs();
            if (restNs > 0)
                Clock.SleepNs(restNs);
            return new List<int>();
        }
    }
}
