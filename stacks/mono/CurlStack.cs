// libcurl by P/Invoke, as a game calls a native library.

using System;
using System.Collections.Generic;
using System.Linq;
using System.Net;
using System.Threading;
using Newtonsoft.Json.Linq;

namespace Commute
{
    sealed class CurlStack : Stack
    {
        public override JObject Hello()
        {
            var versions = Versions();
            Func<string, string> of = library =>
                versions.TryGetValue(library, out var version) ? $"{library} {version}" : $"no {library}";
            return new JObject
            {
                ["type"] = "hello", ["version"] = 2, ["stack"] = "libcurl from C#",
                ["stack_version"] =
                    $"{versions["libcurl"]}, {of("nghttp2")}, {of("ngtcp2")}, {of("nghttp3")}; Mono {Runtime.Version}",
                ["tls"] = of("OpenSSL"),
                ["protocols"] = new JArray(CurlSession.Versions.Keys),
                ["capabilities"] = new JArray("mtls", "resume", "early_data", "parallel", "cancel", "observe"),
                ["codecs"] = new JArray(Messages.CodecNames),
                ["clock"] = "monotonic", ["resolution_ns"] = 1000,
                ["phases"] = new JObject
                {
                    ["dns"] = "libcurl NAMELOOKUP_TIME_T", ["connect"] = "libcurl CONNECT_TIME_T",
                    ["tls"] = "libcurl APPCONNECT_TIME_T", ["request_sent"] = "libcurl POSTTRANSFER_TIME_T",
                    ["first_byte"] = "libcurl STARTTRANSFER_TIME_T",
                    ["end"] = "libcurl TOTAL_TIME_T; with observe, the frame after it",
                },
                ["settings"] = new JObject
                {
                    ["calls"] = "one thread runs one multi handle; bodies come up through a callback into C#, messages are encoded and decoded there too",
                    ["PIPEWAIT"] = "H2, H3: calls wait for a connection that is being opened (set)",
                    ["TCP_NODELAY"] = "on (libcurl's default)",
                    ["MAXAGE_CONN"] = "118 s (libcurl's default): a connection idle for longer is not used again",
                    ["DNS_CACHE_TIMEOUT"] = "60 s (libcurl's default); reconnect looks the name up again",
                    ["PROXY"] = "none (set)",
                    ["silent retries"] = "once, when a kept connection proves dead; libcurl does not tell",
                },
            };
        }

        protected override Session NewSession(Setup setup)
        {
            if (!CurlSession.Versions.ContainsKey(setup.Protocol))
                throw new Unsupported("protocol " + setup.Protocol, "libcurl does not speak it");
            Versions();
            return new CurlSession(setup);
        }

        static Dictionary<string, string> Versions()
        {
            try
            {
                return Curl.Version.Split(' ').Select(part => part.Split('/')).Where(pair => pair.Length == 2)
                    .ToDictionary(pair => pair[0], pair => pair[1]);
            }
            catch (DllNotFoundException)
            {
                throw new Failed("no libcurl; run stacks/curl/install, then stacks/mono/install");
            }
        }
    }

    /// One thread does everything with libcurl; others leave it word.
    sealed class CurlSession : Session
    {
        const int LongestWaitMs = 1000, SharedWaitMs = 1;

        /// The forced versions, as CURLOPT_HTTP_VERSION has them.
        public static readonly Dictionary<string, long> Versions = new Dictionary<string, long>
        {
            ["h1"] = 2, ["h2"] = 4, ["h3"] = 31,
        };

        public readonly bool AddressGiven;
        public IntPtr Share { get; private set; }
        public CurlConnections Current { get; private set; }

        readonly Thread thread;
        readonly object door = new object();
        readonly Queue<Action> asked = new Queue<Action>();
        readonly List<CurlConnections> open = new List<CurlConnections>();
        bool disposed;
        long numbered;

        public CurlSession(Setup setup) : base(setup)
        {
            AddressGiven = IPAddress.TryParse(setup.Url.Host.Trim('[', ']'), out _);
            Renew("cold");
            thread = new Thread(Serve) { IsBackground = true };
            thread.Start();
        }

        public override List<Call> Prepare(List<Step> steps)
        {
            var early = EarlyData(steps);
            Seeded.AtLeast(steps.Where(step => step.Kind == "put").Select(step => step.Bytes).DefaultIfEmpty().Max());
            return steps.Select((step, place) => step.IsCall ? (Call)new CurlCall(this, step, early[place]) : null).ToList();
        }

        /// For each step, whether its transfer is to have the early data option. libcurl keeps
        /// tickets of transfers with and without it apart, so all between two cold reconnects have
        /// it or none.
        bool[] EarlyData(List<Step> steps)
        {
            var chosen = new bool[steps.Count];
            var begin = 0;
            for (var end = 0; end <= steps.Count; end++)
            {
                if (end < steps.Count && steps[end].Mode != "cold")
                    continue;
                var modes = steps.GetRange(begin, end - begin).Select(step => step.Mode)
                    .Where(mode => mode != null && mode != "cold").Distinct().ToList();
                foreach (var mode in modes.Where(mode => mode != "resume" && mode != "early_data"))
                    throw new Unsupported("reconnect " + mode, "this driver does not know it");
                if (modes.Count > 1)
                    throw new Unsupported("reconnect resume and early_data without a cold one between",
                        "libcurl would use one's ticket for neither");
                if (modes.Contains("early_data") && Setup.Protocol != "h3")
                    throw new Unsupported("reconnect early_data", "libcurl's early data was seen on H3 only");
                for (var place = begin; place < end; place++)
                    chosen[place] = modes.Contains("early_data");
                begin = end;
            }
            return chosen;
        }

        public override void Reconnect(string mode)
        {
            using (var done = new ManualResetEventSlim())
            {
                Ask(() =>
                {
                    Renew(mode);
                    done.Set();
                });
                done.Wait();
            }
        }

        public override void Dispose()
        {
            Ask(() =>
            {
                disposed = true;
                Current.Retire();
            });
            thread.Join();
            Curl.ShareCleanup(Share);
        }

        public long Number(CurlConnections connections, long id)
        {
            // libcurl counts anew with each multi handle.
            if (!connections.Numbers.TryGetValue(id, out var number))
                connections.Numbers[id] = number = ++numbered;
            return number;
        }

        void Renew(string mode)
        {
            Current?.Retire();
            if (mode == "cold")
            {
                // Calls under way keep the old tickets for as long as they need them.
                if (Share != IntPtr.Zero)
                    Curl.ShareCleanup(Share);
                Share = Curl.ShareInit();
                Curl.ShareSet(Share, Curl.ShareOption, Curl.ShareTlsSessions);
            }
            Current = new CurlConnections();
            lock (door)
                open.Add(Current);
        }

        /// Has the session's thread do something.
        public void Ask(Action action)
        {
            lock (door)
            {
                asked.Enqueue(action);
                foreach (var connections in open)
                    connections.Wake();
            }
        }

        void Serve()
        {
            while (true)
            {
                while (Asked() is Action action)
                    action();
                lock (door)
                    open.RemoveAll(connections => connections.CloseIfDone());
                if (disposed && open.Count == 0)
                    return;
                foreach (var connections in open)
                    connections.Work();
                // One is the rule; those of calls that outlive a reconnect are looked at in turn.
                foreach (var connections in open)
                    connections.Wait(open.Count == 1 ? LongestWaitMs : SharedWaitMs);
            }
        }

        Action Asked()
        {
            lock (door)
                return asked.Count > 0 ? asked.Dequeue() : null;
        }
    }

    /// The connections opened since the last reconnect: one multi handle.
    sealed class CurlConnections
    {
        public readonly Dictionary<long, long> Numbers = new Dictionary<long, long>();
        /// Of our numbers, those whose handshake resumed a session.
        public readonly HashSet<long> Resumed = new HashSet<long>();

        readonly IntPtr multi = Curl.MultiInit();
        readonly Dictionary<IntPtr, CurlCall> calls = new Dictionary<IntPtr, CurlCall>();
        bool retired;

        public void Add(IntPtr easy, CurlCall call)
        {
            calls.Add(easy, call);
            Curl.MultiAdd(multi, easy);
            // libcurl's counters start when it first looks at a transfer: let it, now.
            Curl.MultiSocketAction(multi, Curl.SocketTimeout, 0, out _);
        }

        public void Remove(IntPtr easy)
        {
            calls.Remove(easy);
            Curl.MultiRemove(multi, easy);
        }

        /// No new calls. The connections close when those under way have ended.
        public void Retire() => retired = true;

        public bool CloseIfDone()
        {
            if (!retired || calls.Count > 0)
                return false;
            Curl.MultiCleanup(multi);
            return true;
        }

        public void Work()
        {
            Curl.MultiPerform(multi, out _);
            while (Curl.NextEnded(multi, out var easy, out var result))
                calls[easy].End(result);
        }

        public void Wait(int longestMs) => Curl.MultiPoll(multi, IntPtr.Zero, 0, longestMs, out _);

        public void Wake() => Curl.MultiWakeup(multi);
    }
}
