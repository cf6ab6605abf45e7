// libcurl called by P/Invoke, as a game calls a native library.

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
                    $"{versions["libcurl"]}, {of("nghttp2")}, {of("ngtcp2")}, {of("nghttp3")}; Mono {MonoRuntime.Version}",
                ["tls"] = of("OpenSSL"),
                ["protocols"] = new JArray(CurlSession.Versions.Keys),
                ["capabilities"] = new JArray(
                    "mtls", "resume", "early_data", "parallel", "cancel", "observe", "plaintext", "jwt", "hmac", "until", "fetch"),
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
                    ["calls"] = "one thread runs one multi handle; a callback passes bodies to C#; messages are encoded and decoded on the same thread",
                    ["PIPEWAIT"] = "set: over H2 and H3, calls wait for a connection that is being opened",
                    ["TCP_NODELAY"] = "on (default)",
                    ["MAXAGE_CONN"] = "118 s (default): a connection idle for longer is not reused",
                    ["DNS_CACHE_TIMEOUT"] = "60 s (default); a reconnect looks the name up again",
                    ["PROXY"] = "none (set)",
                    ["silent retries"] = "one, when a reused connection proves dead; libcurl does not report it",
                },
            };
        }

        protected override Session NewSession(Setup setup)
        {
            if (!CurlSession.Versions.ContainsKey(setup.Protocol))
                throw new UnsupportedException("protocol " + setup.Protocol, "libcurl does not speak it");
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
                throw new FailedException("no libcurl; run stacks/curl/install, then stacks/mono/install");
            }
        }
    }

    /// <summary>Runs libcurl on one thread, to which the others dispatch actions.</summary>
    sealed class CurlSession : Session
    {
        const int SingleWaitMs = 1000, SharedWaitMs = 1;

        /// <summary>The values of CURLOPT_HTTP_VERSION that force each protocol.</summary>
        public static readonly Dictionary<string, long> Versions = new Dictionary<string, long>
        {
            ["h1"] = 2, ["h2"] = 4, ["h3"] = 31,
        };

        public readonly bool AddressGiven;
        public IntPtr Share { get; private set; }
        public CurlConnections Current { get; private set; }

        readonly Thread thread;
        readonly object gate = new object();
        readonly Queue<Action> actions = new Queue<Action>();
        readonly List<CurlConnections> open = new List<CurlConnections>();
        bool disposed;
        long lastNumber;

        public CurlSession(Setup setup) : base(setup)
        {
            AddressGiven = IPAddress.TryParse(setup.Url.Host.Trim('[', ']'), out _);
            OpenConnections("cold");
            thread = new Thread(RunLoop) { IsBackground = true };
            thread.Start();
        }

        public override List<Call> Prepare(List<Step> steps)
        {
            var early = EarlyData(steps);
            Seeded.AtLeast(steps.Where(step => step.Kind == "put").Select(step => step.Bytes).DefaultIfEmpty().Max());
            return steps.Select((step, i) => step.IsCall ? (Call)new CurlCall(this, step, early[i]) : null).ToList();
        }

        /// <summary>
        /// Returns for each step whether its transfer has the early data option. libcurl keeps the
        /// tickets of transfers with and without it apart, so either all transfers between two cold
        /// reconnects have it, or none.
        /// </summary>
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
                    throw new UnsupportedException("reconnect " + mode, "unknown to this driver");
                if (modes.Count > 1)
                    throw new UnsupportedException("reconnect resume and early_data without a cold one in between",
                        "libcurl does not share tickets between the two");
                if (modes.Contains("early_data") && Setup.Protocol != "h3")
                    throw new UnsupportedException("reconnect early_data", "libcurl's early data was seen only over H3");
                for (var i = begin; i < end; i++)
                    chosen[i] = modes.Contains("early_data");
                begin = end;
            }
            return chosen;
        }

        public override void Reconnect(string mode)
        {
            using (var done = new ManualResetEventSlim())
            {
                Dispatch(() =>
                {
                    OpenConnections(mode);
                    done.Set();
                });
                done.Wait();
            }
        }

        public override void Dispose()
        {
            Dispatch(() =>
            {
                disposed = true;
                Current.Retire();
            });
            thread.Join();
            Curl.ShareCleanup(Share);
        }

        /// <summary>
        /// Returns the session's number for a connection of libcurl's, whose ids start again with
        /// each multi handle.
        /// </summary>
        public long AssignNumber(CurlConnections connections, long id)
        {
            if (!connections.Numbers.TryGetValue(id, out var number))
                connections.Numbers[id] = number = ++lastNumber;
            return number;
        }

        void OpenConnections(string mode)
        {
            Current?.Retire();
            if (mode == "cold")
            {
                // Calls in flight keep the old share, and its tickets, for as long as they need it.
                if (Share != IntPtr.Zero)
                    Curl.ShareCleanup(Share);
                Share = Curl.ShareInit();
                Curl.ShareSet(Share, Curl.ShareOption, Curl.ShareTlsSessions);
            }
            Current = new CurlConnections();
            lock (gate)
                open.Add(Current);
        }

        /// <summary>Runs an action on the session's thread.</summary>
        public void Dispatch(Action action)
        {
            lock (gate)
            {
                actions.Enqueue(action);
                foreach (var connections in open)
                    connections.Wakeup();
            }
        }

        void RunLoop()
        {
            while (true)
            {
                while (NextAction() is Action action)
                    action();
                lock (gate)
                    open.RemoveAll(connections => connections.CloseIfDone());
                if (disposed && open.Count == 0)
                    return;
                foreach (var connections in open)
                    connections.Perform();
                // Usually there is one. Those of calls that outlive a reconnect are polled in turn.
                foreach (var connections in open)
                    connections.Wait(open.Count == 1 ? SingleWaitMs : SharedWaitMs);
            }
        }

        Action NextAction()
        {
            lock (gate)
                return actions.Count > 0 ? actions.Dequeue() : null;
        }
    }

    /// <summary>The connections opened since a reconnect: one multi handle.</summary>
    sealed class CurlConnections
    {
        /// <summary>The session's numbers by libcurl's ids.</summary>
        public readonly Dictionary<long, long> Numbers = new Dictionary<long, long>();
        /// <summary>The numbers of connections whose handshake resumed a session.</summary>
        public readonly HashSet<long> Resumed = new HashSet<long>();

        readonly IntPtr multi = Curl.MultiInit();
        readonly Dictionary<IntPtr, CurlCall> calls = new Dictionary<IntPtr, CurlCall>();
        bool retired;

        public void Add(IntPtr easy, CurlCall call)
        {
            calls.Add(easy, call);
            Curl.MultiAdd(multi, easy);
            // libcurl's counters start when it first processes a transfer, so make it do so now.
            Curl.MultiSocketAction(multi, Curl.SocketTimeout, 0, out _);
        }

        public void Remove(IntPtr easy)
        {
            calls.Remove(easy);
            Curl.MultiRemove(multi, easy);
        }

        /// <summary>
        /// Closes the connections when the calls in flight have ended. There are no new calls.
        /// </summary>
        public void Retire() => retired = true;

        public bool CloseIfDone()
        {
            if (!retired || calls.Count > 0)
                return false;
            Curl.MultiCleanup(multi);
            return true;
        }

        public void Perform()
        {
            Curl.MultiPerform(multi, out _);
            while (Curl.TryNextEnded(multi, out var easy, out var result))
                calls[easy].End(result);
        }

        public void Wait(int timeoutMs) => Curl.MultiPoll(multi, IntPtr.Zero, 0, timeoutMs, out _);

        public void Wakeup() => Curl.MultiWakeup(multi);
    }
}
