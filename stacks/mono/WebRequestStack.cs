// HttpWebRequest, the HTTP/1.1 client of Mono's own class library.

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
            Connection.CheckFields();
            // With the default, two connections, a third concurrent call would wait.
            ServicePointManager.DefaultConnectionLimit = Connections;
            // By default a process's first call waits half a second for the pool's second thread.
            ThreadPool.SetMinThreads(PoolThreads, PoolThreads);
            using (var started = new ManualResetEvent(false))
            {
                ThreadPool.QueueUserWorkItem(_ => started.Set());
                started.WaitOne();
            }
        }

        public override JObject Hello() => new JObject
        {
            ["type"] = "hello", ["version"] = 2, ["stack"] = "HttpWebRequest",
            ["stack_version"] = "Mono " + MonoRuntime.Version,
            ["tls"] = MonoTlsProviderFactory.GetProvider().Name == "btls"
                ? "Mono's BoringSSL (btls), at most TLS 1.2" : MonoTlsProviderFactory.GetProvider().Name,
            ["protocols"] = new JArray("h1"),
            ["capabilities"] = new JArray("mtls", "parallel", "cancel", "observe", "plaintext", "jwt", "hmac", "until", "fetch"),
            ["codecs"] = new JArray(Messages.CodecNames),
            ["clock"] = "monotonic", ["resolution_ns"] = 1,
            ["phases"] = new JObject
            {
                ["tls"] = "GetRequestStream returned: connected, headers written (only for first calls with a body)",
                ["request_sent"] = "request stream closed (only for calls with a body)",
                ["first_byte"] = "GetResponse returned: headers parsed",
                ["end"] = "end of body read; with observe, the frame after it",
            },
            ["settings"] = new JObject
            {
                ["calls"] = "blocking, each on its own thread",
                ["code"] = "compiled when first run: a process's first call takes about 0.1 s longer",
                ["ThreadPool.SetMinThreads"] = $"{PoolThreads} (set); the pool is started before the run",
                ["ServicePointManager.DefaultConnectionLimit"] = $"{Connections} (set; default 2)",
                ["ServicePointManager.Expect100Continue"] =
                    $"{ServicePointManager.Expect100Continue}; Mono does not wait for the answer",
                ["ServicePointManager.UseNagleAlgorithm"] = $"{ServicePointManager.UseNagleAlgorithm}",
                ["ServicePointManager.MaxServicePointIdleTime"] = $"{ServicePointManager.MaxServicePointIdleTime} ms",
                ["ServicePointManager.DnsRefreshTimeout"] =
                    $"{ServicePointManager.DnsRefreshTimeout} ms, for which a resolved name is reused",
                ["headers and body"] =
                    "written one after the other; the rest of a body is copied for each TLS record",
                ["AllowAutoRedirect"] = "False (set)",
                ["Proxy"] = "none (set)",
                ["silent retries"] = "none; an idle connection that the server has closed is replaced before use",
                ["tickets"] = "none: each connection has its own TLS context, so nothing resumes",
            },
        };

        protected override Session NewSession(Setup setup)
        {
            if (setup.Protocol != "h1")
                throw new UnsupportedException("protocol " + setup.Protocol, "HttpWebRequest does not speak it");
            return new WebRequestSession(setup);
        }
    }

    /// <summary>The Mono runtime.</summary>
    static class MonoRuntime
    {
        /// <summary>The version as in <c>mono --version</c>, for which there is no public API.</summary>
        public static readonly string Version = (string)Type.GetType("Mono.Runtime")
            .GetMethod("GetDisplayName", BindingFlags.NonPublic | BindingFlags.Static).Invoke(null, null);
    }

    /// <summary>One origin. Calls run on worker threads.</summary>
    sealed class WebRequestSession : Session
    {
        static readonly HashSet<string> Refused = new HashSet<string> { "date", "if-modified-since" };
        static int lastGroup;

        public readonly Workers Workers = new Workers();
        public readonly TrustedAuthorities Authorities;
        public readonly X509Certificate2 ClientCertificate;
        int lastNumber;

        public WebRequestSession(Setup setup) : base(setup)
        {
            Authorities = new TrustedAuthorities(setup.CaFile);
            if (setup.ClientCertFile != null)
                ClientCertificate = Certificates.ReadWithKey(setup.ClientCertFile, setup.ClientKeyFile);
            // With these anchors BoringSSL itself checks chain, dates and name.
            var settings = MonoTlsSettings.CopyDefaultSettings();
            settings.TrustAnchors = Authorities.Certificates;
            MonoTlsSettings.DefaultSettings = settings;
            OpenGroup();
        }

        /// <summary>The name of the group for HttpWebRequest.</summary>
        public string GroupName { get; private set; }

        public ConnectionGroup Group { get; private set; }

        public override List<Call> Prepare(List<Step> steps)
        {
            foreach (var step in steps.Where(step => step.Kind == "reconnect" && step.Mode != "cold"))
                throw new UnsupportedException("reconnect " + step.Mode, "Mono's TLS keeps no sessions");
            var fields = steps.Where(step => step.Kind == "fetch").SelectMany(step => step.Fields.Keys);
            if (fields.FirstOrDefault(Refused.Contains) is string refused)
                throw new UnsupportedException("header field " + refused, "HttpWebRequest takes a date there, and writes it in its own way");
            var maxBytes = steps.Where(step => step.Kind == "put").Select(step => step.Bytes).DefaultIfEmpty().Max();
            Seeded.AtLeast(maxBytes);
            return steps.Select(step => step.IsCall ? (Call)new WebRequestCall(this, step) : null).ToList();
        }

        public override void Reconnect(string mode)
        {
            Group.Retire();
            OpenGroup();
        }

        public override void Dispose()
        {
            Group.Retire();
            Workers.Dispose();
        }

        /// <summary>Returns the number of a connection that carries its first call.</summary>
        public int NextNumber() => Interlocked.Increment(ref lastNumber);

        void OpenGroup()
        {
            var name = GroupName = "group " + ++lastGroup;
            var servicePoint = ServicePointManager.FindServicePoint(Setup.Url);
            Group = new ConnectionGroup(() => servicePoint.CloseConnectionGroup(name));
        }
    }
}
