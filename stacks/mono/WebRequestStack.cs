// HttpWebRequest: the HTTP/1.1 client of Mono's own class library.

using System;
using System.Collections.Generic;
using System.Linq;
using System.Net;
using System.Reflection;
using System.Security.Cryptography.X509Certificates;
using System.Threading;
using Mono.Security.Interface;
using Newtonsoft.Json.Linq;

namespace Commute
{
    sealed class WebRequestStack : Stack
    {
        const int Connections = 1000, PoolThreads = 16;

        public WebRequestStack()
        {
            Connection.Look();
            // Two connections, the default, would make a third call at a time wait for a first.
            ServicePointManager.DefaultConnectionLimit = Connections;
            // Left alone, the pool lets a process's first call wait half a second for its second thread.
            ThreadPool.SetMinThreads(PoolThreads, PoolThreads);
            using (var begun = new ManualResetEvent(false))
            {
                ThreadPool.QueueUserWorkItem(_ => begun.Set());
                begun.WaitOne();
            }
        }

        public override JObject Hello() => new JObject
        {
            ["type"] = "hello", ["version"] = 2, ["stack"] = "HttpWebRequest",
            ["stack_version"] = "Mono " + Runtime.Version,
            ["tls"] = MonoTlsProviderFactory.GetProvider().Name == "btls"
                ? "Mono's BoringSSL (btls), at most TLS 1.2" : MonoTlsProviderFactory.GetProvider().Name,
            ["protocols"] = new JArray("h1"),
            ["capabilities"] = new JArray("mtls", "parallel", "cancel", "observe"),
            ["codecs"] = new JArray(Messages.CodecNames),
            ["clock"] = "monotonic", ["resolution_ns"] = 1,
            ["phases"] = new JObject
            {
                ["tls"] = "GetRequestStream returned: connected, head written (first calls with a body only)",
                ["request_sent"] = "request stream closed (calls with a body only)",
                ["first_byte"] = "GetResponse returned: head parsed",
                ["end"] = "end of body read; with observe, the frame after it",
            },
            ["settings"] = new JObject
            {
                ["calls"] = "blocking, each on a thread that waits for it",
                ["code"] = "compiled as it first runs: a process's first call takes some 0.1 s more",
                ["ThreadPool.SetMinThreads"] = $"{PoolThreads} (set), the pool in use before the run",
                ["ServicePointManager.DefaultConnectionLimit"] = $"{Connections} (set; Mono's is 2)",
                ["ServicePointManager.Expect100Continue"] =
                    $"{ServicePointManager.Expect100Continue}; Mono does not wait for the answer",
                ["ServicePointManager.UseNagleAlgorithm"] = $"{ServicePointManager.UseNagleAlgorithm}",
                ["ServicePointManager.MaxServicePointIdleTime"] = $"{ServicePointManager.MaxServicePointIdleTime} ms",
                ["ServicePointManager.DnsRefreshTimeout"] =
                    $"{ServicePointManager.DnsRefreshTimeout} ms: a name is not looked up again before",
                ["head and body"] =
                    "written one after the other; what is left of a body is copied anew for each TLS record",
                ["AllowAutoRedirect"] = "False (set)",
                ["Proxy"] = "none (set)",
                ["silent retries"] = "none; a kept connection that the server has closed is replaced before it is used",
                ["tickets"] = "each connection has a TLS context of its own: nothing resumes",
            },
        };

        protected override Session NewSession(Setup setup)
        {
            if (setup.Protocol != "h1")
                throw new Unsupported("protocol " + setup.Protocol, "HttpWebRequest does not speak it");
            return new WebRequestSession(setup);
        }
    }

    static class Runtime
    {
        /// What `mono --version` says; there is no public way to ask.
        public static readonly string Version = (string)Type.GetType("Mono.Runtime")
            .GetMethod("GetDisplayName", BindingFlags.NonPublic | BindingFlags.Static).Invoke(null, null);
    }

    sealed class WebRequestSession : Session
    {
        static int groups;

        public readonly Workers Workers = new Workers();
        public readonly Trust Trust;
        public readonly X509Certificate2 ClientCertificate;
        int numbered;

        public WebRequestSession(Setup setup) : base(setup)
        {
            Trust = new Trust(setup.CaFile);
            if (setup.ClientCertFile != null)
                ClientCertificate = Certificates.WithKey(setup.ClientCertFile, setup.ClientKeyFile);
            // BoringSSL itself then checks chain, dates and name.
            var settings = MonoTlsSettings.CopyDefaultSettings();
            settings.TrustAnchors = Trust.Authorities;
            MonoTlsSettings.DefaultSettings = settings;
            Group = new ConnectionGroup(ServicePointManager.FindServicePoint(setup.Url), ++groups);
        }

        public ConnectionGroup Group { get; private set; }

        public override List<Call> Prepare(List<Step> steps)
        {
            foreach (var step in steps.Where(step => step.Kind == "reconnect" && step.Mode != "cold"))
                throw new Unsupported("reconnect " + step.Mode, "Mono's TLS keeps no sessions");
            var longest = steps.Where(step => step.Kind == "put").Select(step => step.Bytes).DefaultIfEmpty().Max();
            Seeded.AtLeast(longest);
            return steps.Select(step => step.IsCall ? (Call)new WebRequestCall(this, step) : null).ToList();
        }

        public override void Reconnect(string mode)
        {
            Group.Retire();
            Group = new ConnectionGroup(ServicePointManager.FindServicePoint(Setup.Url), ++groups);
        }

        public override void Dispose()
        {
            Group.Retire();
            Workers.Dispose();
        }

        public int Number() => Interlocked.Increment(ref numbered);
    }

    /// The connections opened since the last reconnect.
    sealed class ConnectionGroup
    {
        public readonly string Name;
        readonly ServicePoint servicePoint;
        int calls;
        bool retired;

        public ConnectionGroup(ServicePoint servicePoint, int number)
        {
            this.servicePoint = servicePoint;
            Name = "group " + number;
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

        /// No new calls. Those under way end first.
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
                servicePoint.CloseConnectionGroup(Name);
        }
    }
}
