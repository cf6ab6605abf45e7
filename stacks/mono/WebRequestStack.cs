// HttpWebRequest: the HTTP/1.1 client of Mono's own class library.

using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Security;
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
            ["type"] = "hello", ["version"] = 1, ["stack"] = "HttpWebRequest",
            ["stack_version"] = "Mono " + Runtime.Version,
            ["tls"] = MonoTlsProviderFactory.GetProvider().Name == "btls"
                ? "Mono's BoringSSL (btls), at most TLS 1.2" : MonoTlsProviderFactory.GetProvider().Name,
            ["protocols"] = new JArray("h1"),
            ["abilities"] = new JArray("mtls", "parallel", "cancel", "observe"),
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
                ["ServicePointManager.Expect100Continue"] = $"{ServicePointManager.Expect100Continue}",
                ["ServicePointManager.UseNagleAlgorithm"] = $"{ServicePointManager.UseNagleAlgorithm}",
                ["ServicePointManager.MaxServicePointIdleTime"] = $"{ServicePointManager.MaxServicePointIdleTime} ms",
                ["ServicePointManager.DnsRefreshTimeout"] = $"{ServicePointManager.DnsRefreshTimeout} ms: a name is not looked up again before",
                ["head and body"] = "written one after the other",
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

    sealed class WebRequestCall : Call
    {
        readonly WebRequestSession session;
        readonly byte[] body;
        readonly int bodyLength;
        readonly object door = new object();
        HttpWebRequest request;
        Connection opened;
        string givenUp;

        public WebRequestCall(WebRequestSession session, Step step) : base(step)
        {
            this.session = session;
            if (step.Kind == "call")
            {
                body = System.Text.Encoding.UTF8.GetBytes(step.Body);
                bodyLength = body.Length;
            }
            else if (step.Kind == "put")
            {
                body = Seeded.AtLeast(step.Bytes);
                bodyLength = (int)step.Bytes;
            }
        }

        public override void Start(Action ended)
        {
            var group = session.Group;
            group.Enter();
            session.Workers.Do(() =>
            {
                Ask(group.Name);
                Perform();
                group.Leave();
                ended();
            });
        }

        public override void GiveUp(string kind)
        {
            lock (door)
            {
                givenUp = kind;
                request?.Abort();
            }
        }

        void Ask(string group)
        {
            var path = Step.Kind == "call" ? "/echo" : Step.Kind == "put" ? "/upload" : "/bytes/" + Step.Bytes;
            var asked = (HttpWebRequest)WebRequest.Create(new Uri(session.Setup.Url, path));
            asked.Method = Step.Kind == "call" ? "POST" : Step.Kind == "put" ? "PUT" : "GET";
            asked.Headers["x-commute-id"] = Step.Id.ToString();
            if (body != null)
            {
                asked.ContentType = Step.Kind == "call" ? "application/json" : "application/octet-stream";
                asked.ContentLength = bodyLength;
            }
            asked.ConnectionGroupName = group;
            asked.Proxy = null;
            asked.AllowAutoRedirect = false;
            asked.Timeout = asked.ReadWriteTimeout = (int)Math.Min(session.Setup.TimeoutNs / 1000000 + 1, int.MaxValue);
            asked.ServerCertificateValidationCallback = Handshake;
            if (session.ClientCertificate != null)
                asked.ClientCertificates.Add(session.ClientCertificate);
            lock (door)
            {
                request = asked;
                if (givenUp != null)
                    request.Abort();
            }
        }

        void Perform()
        {
            Row.StartNs = Clock.NowNs();
            try
            {
                if (body != null)
                    Send();
                using (var response = Respond())
                    Receive(response);
                Row.EndNs = Clock.NowNs();
                if (Row.Status >= 400)
                    Row.Fail("status", "status " + Row.Status);
            }
            catch (Exception error) when (error is WebException || error is IOException || error is ObjectDisposedException)
            {
                Row.EndNs = Clock.NowNs();
                Row.Fail(givenUp ?? Kind(error), error.Message);
            }
            Attribute();
        }

        void Send()
        {
            using (var stream = request.GetRequestStream())
            {
                if (opened != null)
                    Row.TlsNs = Clock.NowNs();
                stream.Write(body, 0, bodyLength);
            }
            Row.RequestSentNs = Clock.NowNs();
            Row.RequestBytes = bodyLength;
        }

        /// The response's head, whatever its status.
        HttpWebResponse Respond()
        {
            try
            {
                return (HttpWebResponse)request.GetResponse();
            }
            catch (WebException error) when (error.Response is HttpWebResponse response)
            {
                return response;
            }
        }

        void Receive(HttpWebResponse response)
        {
            Row.FirstByteNs = Clock.NowNs();
            Row.Status = (int)response.StatusCode;
            Row.Protocol = response.ProtocolVersion == HttpVersion.Version11 ? "h1" : "HTTP/" + response.ProtocolVersion;
            using (var stream = response.GetResponseStream())
            {
                int count;
                do
                {
                    var room = Response.Room();
                    count = stream.Read(room.Array, room.Offset, room.Count);
                    Response.Took(count);
                }
                while (count > 0);
            }
            // Mono takes the end of the connection for the end of the body.
            if (response.ContentLength > Response.Length)
                throw new IOException($"the body ended after {Response.Length} of {response.ContentLength} bytes");
        }

        /// Called in the handshake of the call that opens a connection, and only there.
        bool Handshake(object sender, X509Certificate certificate, X509Chain chain, SslPolicyErrors errors)
        {
            opened = Connection.Of(request);
            return session.Trust.Believes(chain, errors);
        }

        /// Which connection the call was on.
        void Attribute()
        {
            if (Row.ErrorKind == "dns" || Row.ErrorKind == "connect" || Row.ErrorKind == "tls")
                return;
            var connection = opened ?? Connection.Of(request);
            if (connection == null)
                return;
            if (connection.Number == 0)
                connection.Number = session.Number();
            Row.Connection = connection.Number;
            Row.LocalPort = connection.LocalPort;
            Row.Reused = opened == null;
            Row.Attempts = 1;
        }

        static string Kind(Exception error)
        {
            switch ((error as WebException)?.Status)
            {
                case WebExceptionStatus.NameResolutionFailure: return "dns";
                case WebExceptionStatus.ConnectFailure: return "connect";
                case WebExceptionStatus.TrustFailure: case WebExceptionStatus.SecureChannelFailure: return "tls";
                case WebExceptionStatus.Timeout: return "timeout";
                case WebExceptionStatus.ServerProtocolViolation: return "protocol";
                default: return "reset";
            }
        }
    }
}
