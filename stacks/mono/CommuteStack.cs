// commute's client by its binding for Unity (bindings/unity): HttpClient with CommuteHandler.

using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Threading;
using Commute.Client;
using Newtonsoft.Json.Linq;

namespace Commute
{
    sealed class CommuteStack : Stack
    {
        const int PoolThreads = 16;

        public CommuteStack()
        {
            try
            {
                CommuteEngine.Require();
            }
            catch (DllNotFoundException error)
            {
                throw new FailedException(error.Message + "; run in a checkout of commute, with cargo: commute stacks install mono");
            }
            // By default the pool grows by two threads a second.
            ThreadPool.SetMinThreads(PoolThreads, PoolThreads);
        }

        public override JObject Hello() => new JObject
        {
            ["type"] = "hello", ["version"] = 2, ["stack"] = "HttpClient over commute's engine",
            ["stack_version"] = $"of this checkout; Mono {MonoRuntime.Version}",
            ["tls"] = "rustls",
            ["protocols"] = new JArray(CommuteSession.Policies.Keys),
            ["capabilities"] = new JArray("mtls", "parallel", "cancel", "observe", "jwt", "hmac", "until", "policy", "fetch"),
            ["codecs"] = new JArray(Messages.CodecNames),
            ["clock"] = "monotonic", ["resolution_ns"] = 100,
            ["phases"] = new JObject
            {
                ["dns"] = "getaddrinfo returned", ["connect"] = "TCP connect returned",
                ["tls"] = "TLS or QUIC handshake complete", ["request_sent"] = "request handed to the transport",
                ["first_byte"] = "response head delivered to the engine",
                ["end"] = "end of body read in C#; with observe, the frame after it",
            },
            ["settings"] = new JObject
            {
                ["calls"] = "asynchronous, on the thread pool; one thread waits for the engine's events",
                ["code"] = "C# is compiled when first run: a process's first call takes about 0.1 s longer",
                ["ThreadPool.SetMinThreads"] = $"{PoolThreads} (set)",
                ["bodies of requests"] = "up to 64 KiB held by the engine, longer ones streamed",
                ["AllowAutoRedirect, UseCookies"] = "False (set)",
                ["reconnect"] = "another engine, which knows what the last one learnt",
                ["memory"] = "a file for each origin",
                ["retries"] = "if the peer cannot have acted, or the request is idempotent and not streamed",
            },
        };

        protected override Session NewSession(Setup setup)
        {
            if (!CommuteSession.Policies.ContainsKey(setup.Protocol))
                throw new UnsupportedException("protocol " + setup.Protocol, "the handler cannot be pinned to it");
            return new CommuteSession(setup);
        }
    }

    /// <summary>One origin, with a hint of HTTP/3.</summary>
    sealed class CommuteSession : Session
    {
        public static readonly Dictionary<string, RoutePolicy> Policies = new Dictionary<string, RoutePolicy>
        {
            ["h2"] = RoutePolicy.Tcp, ["h3"] = RoutePolicy.Http3, ["auto"] = RoutePolicy.Adaptive,
        };

        int lastNumber;

        public CommuteSession(Setup setup) : base(setup)
        {
            Current = Open();
        }

        public CommuteConnections Current { get; private set; }

        public override List<Call> Prepare(List<Step> steps)
        {
            foreach (var step in steps.Where(step => step.Kind == "reconnect" && step.Mode != "cold"))
                throw new UnsupportedException("reconnect " + step.Mode, "an engine that is closed forgets its sessions");
            Seeded.AtLeast(steps.Where(step => step.Kind == "put").Select(step => step.Bytes).DefaultIfEmpty().Max());
            return steps.Select(step => step.IsCall ? (Call)new CommuteCall(this, step) : null).ToList();
        }

        public override void Reconnect(string mode)
        {
            Current.Group.Retire();
            Current = Open();
        }

        public override void Dispose() => Current.Group.Retire();

        /// <summary>Returns the number of a connection that carries its first call.</summary>
        public int NextNumber() => Interlocked.Increment(ref lastNumber);

        CommuteConnections Open()
        {
            var options = new EngineOptions
            {
                Policy = Setup.Policy == "race" ? RoutePolicy.Race : Policies[Setup.Protocol],
                RootsPem = File.ReadAllBytes(Setup.CaFile), MemoryFolder = MemoryFolder(),
                IdentityChainPem = Contents(Setup.ClientCertFile), IdentityKeyPem = Contents(Setup.ClientKeyFile),
            };
            options.H3Hints.Add(Setup.Url.ToString());
            return new CommuteConnections(this, new CommuteEngine(options));
        }

        /// <summary>Where engines find what the last one learnt, in this process or an earlier one.</summary>
        string MemoryFolder()
        {
            var origin = Setup.Url.Authority.Replace(':', '_');
            return Path.Combine(Environment.GetEnvironmentVariable("HOME"), "mono-commute", origin);
        }

        static byte[] Contents(string file) => file == null ? null : File.ReadAllBytes(file);
    }

    /// <summary>The connections opened since a reconnect: an engine.</summary>
    sealed class CommuteConnections
    {
        public readonly HttpClient Client;
        public readonly ConnectionGroup Group;
        readonly CommuteSession session;
        /// <summary>The session's numbers by the engine's.</summary>
        readonly Dictionary<long, int> numbers = new Dictionary<long, int>();

        public CommuteConnections(CommuteSession session, CommuteEngine engine)
        {
            this.session = session;
            var handler = new CommuteHandler(engine, true) { AllowAutoRedirect = false, UseCookies = false };
            // The driver has timers of its own.
            Client = new HttpClient(handler) { BaseAddress = session.Setup.Url, Timeout = Timeout.InfiniteTimeSpan };
            Group = new ConnectionGroup(Client.Dispose);
        }

        /// <summary>Returns the session's number for a connection of the engine's.</summary>
        public int Number(long connection)
        {
            lock (numbers)
            {
                if (!numbers.TryGetValue(connection, out var number))
                    numbers[connection] = number = session.NextNumber();
                return number;
            }
        }
    }
}
