using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Commute.Client
{
    /// <summary>
    /// The engine: connections, and what was learnt. One for the whole app, shared by all handlers. Its one
    /// thread waits in native code; native code never calls managed code.
    /// </summary>
    public sealed class CommuteEngine : IDisposable
    {
#if UNITY_EDITOR
        // The editor aborts threads when it reloads the domain, which a thread in native code would hold up.
        const int WaitMs = 250;
#else
        const int WaitMs = -1;
#endif
        const int EventsAtOnce = 64;

        static readonly HashSet<CommuteEngine> Open = new HashSet<CommuteEngine>();

        readonly ulong id;
        readonly Func<byte[][], string, bool> checkChain;
        readonly Dictionary<ulong, Call> calls = new Dictionary<ulong, Call>();
        readonly Thread thread;
        ulong users;
        /// <summary>Why no call is taken any more; null if they are.</summary>
        int? over;

        /// <summary>Makes an engine with the defaults.</summary>
        public CommuteEngine() : this(new EngineOptions())
        {
        }

        /// <summary>Makes an engine.</summary>
        /// <exception cref="DllNotFoundException">The native library is missing: names file, ABI and folder.</exception>
        /// <exception cref="ArgumentException">An option is not valid; says which.</exception>
        public CommuteEngine(EngineOptions options)
        {
            Native.Require();
            id = Create(options);
            checkChain = options.CheckChain;
            HasOwnCertificates = options.RootsPem != null || checkChain != null || options.IdentityChainPem != null;
            lock (Open)
            {
                if (Open.Count == 0)
                    CloseOnEnd(true);
                Open.Add(this);
            }
            thread = new Thread(Run) { IsBackground = true, Name = "commute events" };
            thread.Start();
        }

        /// <summary>Throws, with what is missing and where it belongs, unless the native library is there.</summary>
        /// <exception cref="DllNotFoundException">Names file, ABI and folder.</exception>
        public static void Require() => Native.Require();

        /// <summary>Closes every engine of this domain.</summary>
        public static void CloseAll()
        {
            foreach (var engine in All())
                engine.Dispose();
        }

        /// <summary>
        /// Saves what every engine of this domain has learnt. In Unity the package does so when the app goes to the
        /// background.
        /// </summary>
        public static void SaveAll()
        {
            foreach (var engine in All())
                // One that was closed meanwhile has saved it.
                Native.cm_save(engine.id);
        }

        /// <summary>Reports a change of the default network.</summary>
        /// <param name="networkId">Any name by which it is known again; null: there is no network.</param>
        /// <param name="metered">Whether data costs money there: nothing is opened just to learn.</param>
        /// <param name="kind">What it is, for <c>MetricsCsv</c>.</param>
        public void SetNetwork(byte[] networkId, bool metered, NetworkKind kind = NetworkKind.Other)
        {
            if (networkId == null)
            {
                Check(Native.cm_set_no_network(id, IntPtr.Zero));
                return;
            }
            var digest = new byte[16];
            using (var md5 = System.Security.Cryptography.MD5.Create())
                Buffer.BlockCopy(md5.ComputeHash(networkId), 0, digest, 0, digest.Length);
            var network = new NativeNetwork { Id = digest, Metered = metered ? 1u : 0u, Kind = (uint)kind };
            Check(Native.cm_set_network(id, ref network));
        }

        /// <summary>
        /// Writes what was learnt to its folder, and returns when that is done. Without this it is written after the first
        /// request, at most every 30 s after that, and when the engine is closed.
        /// </summary>
        public void Save() => Check(Native.cm_save(id));

        /// <summary>
        /// Closes all connections, e.g. when the user logs out. Requests under way fail, or are sent again where that is
        /// safe. Waits for the engine's own thread.
        /// </summary>
        /// <param name="forgetSessions">Whether TLS sessions are forgotten, too, by which servers would know the client
        /// again.</param>
        public void Disconnect(bool forgetSessions) => Check(Native.cm_disconnect(id, forgetSessions ? 1u : 0u));

        /// <summary>Closes the connections that carry no request, and returns before that is done.</summary>
        public void CloseIdle() => Check(Native.cm_close_idle(id));

        /// <summary>Sets what the app allows. Older generations do not replace newer ones.</summary>
        public void SetSwitches(int generation, bool engine, int h3Percent, bool explore)
        {
            var switches = new NativeSwitches
            {
                Generation = checked((uint)generation), Engine = engine ? 1u : 0u,
                H3Percent = checked((uint)h3Percent), Explore = explore ? 1u : 0u,
            };
            Check(Native.cm_set_switches(id, ref switches));
        }

        /// <summary>
        /// Reports the HTTPS record (RFC 9460) of a URL's origin, by which a server may offer HTTP/3. The type to ask a
        /// resolver for is 65, the name is the host, with <c>_8443._https.</c> before it if the port is 8443.
        /// </summary>
        /// <param name="url">An https URL.</param>
        /// <param name="answer">
        /// The resolver's whole DNS message. null: the app has only just asked. Requests that look the origin up within a second
        /// then wait for the answer, at most 50 ms longer than for addresses. Empty: there is no answer, which ends that wait.
        /// </param>
        /// <returns>Whether the answer offers HTTP/3; true without one.</returns>
        public bool ReportHttpsRecord(Uri url, byte[] answer)
        {
            if (answer != null && answer.Length == 0)
                // The C interface takes an empty answer for none yet. A malformed one ends the wait.
                answer = new byte[1];
            var text = Encoding.UTF8.GetBytes(url.AbsoluteUri);
            var status = Native.cm_https_record(
                id, text, (UIntPtr)text.Length, answer, (UIntPtr)(answer == null ? 0 : answer.Length));
            if (status == (int)CommuteStatus.End)
                return false;
            Check(status);
            return true;
        }

        /// <summary>
        /// Reports that a request which failed here worked by another client, right afterwards. Do not report a
        /// request that was cancelled, or failed with <c>Argument</c>, <c>TooMany</c>, <c>Certificate</c>,
        /// <c>Offline</c> or <c>Plain</c>: these say nothing against the engine. If more than one request in fifty is
        /// reported, the engine turns itself off: requests fail with <c>Plain</c>.
        /// </summary>
        public void WorkedWithout() => Check(Native.cm_worked_without(id));

        /// <summary>
        /// Returns what the last requests took, at most 1,024 of them, as CSV that <c>commute import</c> reads. It
        /// names neither servers nor networks.
        /// </summary>
        public string MetricsCsv(MetricsArms arms)
        {
            var csv = Native.Copy((byte[] into, UIntPtr cap, out UIntPtr length) =>
                Native.cm_get_metrics(id, (uint)arms, into, cap, out length));
            if (csv == null)
                throw CommuteException.Of((int)CommuteStatus.Closed, false);
            return Encoding.UTF8.GetString(csv);
        }

        /// <summary>Ends all calls and connections, and saves what was learnt.</summary>
        public void Dispose()
        {
            lock (Open)
                if (Open.Remove(this) && Open.Count == 0)
                    CloseOnEnd(false);
            // Wakes the thread, which then ends the calls.
            Native.cm_engine_close(id);
            if (Thread.CurrentThread != thread)
                thread.Join();
        }

        /// <summary>
        /// Opens a connection, or finds an open one. It is direct: only a handler knows which proxies apply.
        /// </summary>
        internal async Task ConnectAsync(Uri url)
        {
            var text = Encoding.UTF8.GetBytes(url.AbsoluteUri);
            var call = Start((ulong user, out ulong native) =>
                Native.cm_connect(id, text, (UIntPtr)text.Length, user, out native));
            try
            {
                await call.Head.ConfigureAwait(false);
            }
            finally
            {
                call.Release();
            }
        }

        /// <summary>Whether it trusts other authorities than the platform, or has a certificate of its own.</summary>
        internal bool HasOwnCertificates { get; }

        /// <summary>Whether it takes no calls any more.</summary>
        internal bool IsClosed
        {
            get
            {
                lock (calls)
                    return over != null;
            }
        }

        /// <summary>Starts a call for a request.</summary>
        internal Call Submit(NativeRequest request) =>
            Start((ulong user, out ulong native) => Native.cm_submit(id, ref request, user, out native));

        Call Start(Native.Starter start)
        {
            Call call;
            ulong user;
            lock (calls)
            {
                if (over != null)
                    throw CommuteException.Of(over.Value, false);
                user = ++users;
                call = new Call(this, id, user);
                calls.Add(user, call);
            }
            ulong native;
            var status = start(user, out native);
            if (status == (int)CommuteStatus.Ok)
            {
                call.Begin(native);
                return call;
            }
            Forget(user);
            throw CommuteException.Of(status, false);
        }

        internal void Forget(ulong user)
        {
            lock (calls)
                calls.Remove(user);
        }

        static CommuteEngine[] All()
        {
            lock (Open)
            {
                var all = new CommuteEngine[Open.Count];
                Open.CopyTo(all);
                return all;
            }
        }

        /// <summary>Closes what is open when the domain goes, or the process: neither could end a thread in native code.</summary>
        static void CloseOnEnd(bool close)
        {
            var domain = AppDomain.CurrentDomain;
            domain.DomainUnload -= OnEnd;
            domain.ProcessExit -= OnEnd;
            if (!close)
                return;
            domain.DomainUnload += OnEnd;
            domain.ProcessExit += OnEnd;
        }

        static void OnEnd(object sender, EventArgs e) => CloseAll();

        static ulong Create(EngineOptions options)
        {
            if (options.RootsPem != null && options.CheckChain != null)
                throw new ArgumentException("either RootsPem or CheckChain decides about certificates");
            using (var memory = new Memory())
            {
                var hints = options.H3Hints.ConvertAll(memory.Text);
                var addresses = options.Addresses.ConvertAll(address => new NativeField
                {
                    Name = memory.Text(address.Key), Value = memory.Text(address.Value.ToString()),
                });
                var config = new NativeConfig
                {
                    Policy = (uint)options.Policy,
                    Trust = options.CheckChain != null ? Native.TrustApp : options.RootsPem != null ? Native.TrustRoots : 0,
                    RootsPem = memory.Bytes(options.RootsPem),
                    IdentityChainPem = memory.Bytes(options.IdentityChainPem),
                    IdentityKeyPem = memory.Bytes(options.IdentityKeyPem),
                    MemoryFolder = memory.Text(options.MemoryFolder),
                    H3Hints = memory.Array(hints), H3HintCount = (UIntPtr)hints.Count,
                    Addresses = memory.Array(addresses), AddressCount = (UIntPtr)addresses.Count,
                    EarlyData = options.EarlyData ? 1u : 0u,
                };
                ulong engine;
                UIntPtr length;
                var error = new byte[512];
                var status = (CommuteStatus)Native.cm_engine_new(ref config, out engine, error, (UIntPtr)error.Length, out length);
                if (status == CommuteStatus.Ok)
                    return engine;
                var why = Encoding.UTF8.GetString(error, 0, (int)length);
                if (status == CommuteStatus.Argument)
                    throw new ArgumentException(why);
                throw new CommuteException(status, false, why);
            }
        }

        void Check(int status)
        {
            if (status != (int)CommuteStatus.Ok)
                throw CommuteException.Of(status, false);
        }

        /// <summary>Hands events on until the engine is closed; runs on the engine's own thread.</summary>
        void Run()
        {
            var events = new NativeEvent[EventsAtOnce];
            while (true)
            {
                UIntPtr count;
                var status = Native.cm_wait(id, events, (UIntPtr)events.Length, WaitMs, out count);
                if (status == (int)CommuteStatus.Again)
                    continue;
                if (status != (int)CommuteStatus.Ok)
                {
                    EndAll(status);
                    return;
                }
                for (var index = 0; index < (int)count; index++)
                    Handle(ref events[index]);
            }
        }

        void Handle(ref NativeEvent happened)
        {
            if (happened.Kind == Native.CheckChain)
            {
                Native.cm_answer_chain(id, happened.Number, Accepts(happened.Number) ? 1u : 0u);
                return;
            }
            Call call;
            lock (calls)
                calls.TryGetValue(happened.User, out call);
            call?.Handle(ref happened);
        }

        bool Accepts(ulong number)
        {
            try
            {
                var host = Part(number, 0);
                var chain = new List<byte[]>();
                for (var part = Part(number, 1); part != null; part = Part(number, chain.Count + 1))
                    chain.Add(part);
                return host != null && checkChain(chain.ToArray(), Encoding.UTF8.GetString(host));
            }
            catch (Exception)
            {
                // A check that fails to decide has not accepted.
                return false;
            }
        }

        byte[] Part(ulong number, int part) => Native.Copy((byte[] into, UIntPtr cap, out UIntPtr length) =>
            Native.cm_get_chain(id, number, (UIntPtr)part, into, cap, out length));

        void EndAll(int status)
        {
            Call[] left;
            lock (calls)
            {
                over = status;
                left = new Call[calls.Count];
                calls.Values.CopyTo(left, 0);
                calls.Clear();
            }
            foreach (var call in left)
                // They were under way.
                call.End(CommuteException.Of(status, true));
        }
    }
}
