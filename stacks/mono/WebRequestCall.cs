using System;
using System.IO;
using System.Net;
using System.Net.Security;
using System.Security.Cryptography.X509Certificates;

namespace Commute
{
    /// <summary>One blocking call on a worker thread.</summary>
    sealed class WebRequestCall : Call
    {
        readonly WebRequestSession session;
        byte[] body;
        int bodyLength;
        readonly object gate = new object();
        HttpWebRequest request;
        Connection opened;
        string abortKind;
        bool abortedConnected;

        public WebRequestCall(WebRequestSession session, Step step) : base(session, step)
        {
            this.session = session;
            body = step.Kind == "put" ? Seeded.AtLeast(step.Bytes) : session.Setup.Body(step);
            bodyLength = step.Kind == "put" ? (int)step.Bytes : body?.Length ?? 0;
        }

        public override void Start(Action ended)
        {
            var group = session.Group;
            var name = session.GroupName;
            group.Enter();
            session.Workers.Run(() =>
            {
                CreateRequest(name);
                Perform();
                group.Leave();
                ended();
            });
        }

        public override void Abort(string kind)
        {
            lock (gate)
            {
                abortKind = kind;
                if (request == null)
                    return;
                abortedConnected = Connection.IsOpen(request);
                request.Abort();
            }
        }

        void CreateRequest(string group)
        {
            var newRequest = (HttpWebRequest)WebRequest.Create(new Uri(session.Setup.Url, Step.Path));
            newRequest.Method = Step.Method;
            foreach (var header in session.Setup.Headers(Step))
                SetHeader(newRequest, header.Key, header.Value);
            newRequest.ConnectionGroupName = group;
            newRequest.Proxy = null;
            newRequest.AllowAutoRedirect = false;
            newRequest.Timeout = newRequest.ReadWriteTimeout = (int)Math.Min(session.Setup.TimeoutNs / 1000000 + 1, int.MaxValue);
            newRequest.ServerCertificateValidationCallback = Validate;
            if (session.ClientCertificate != null)
                newRequest.ClientCertificates.Add(session.ClientCertificate);
            lock (gate)
            {
                request = newRequest;
                if (abortKind != null)
                    request.Abort();
            }
        }

        /// <summary>Sets a header; some have a property of their own, and must be set by that.</summary>
        static void SetHeader(HttpWebRequest request, string name, string value)
        {
            switch (name)
            {
                case "accept": request.Accept = value; break;
                case "content-type": request.ContentType = value; break;
                case "referer": request.Referer = value; break;
                case "user-agent": request.UserAgent = value; break;
                default: request.Headers[name] = value; break;
            }
        }

        void Perform()
        {
            Row.StartNs = Clock.NowNs();
            try
            {
                if (Exchange != null)
                {
                    body = Exchange.Encode(Row);
                    bodyLength = body.Length;
                }
                if (session.Setup.Auth != null)
                    foreach (var header in session.Setup.Auth.Prove(Row, Step, session.Setup.Url, body, bodyLength))
                        request.Headers[header.Key] = header.Value;
                if (body != null)
                    Send();
                using (var response = GetResponse())
                    Receive(response);
                Row.EndNs = Clock.NowNs();
                if (Row.Status >= 400)
                    Row.Fail("status", "status " + Row.Status);
                else if (Exchange != null)
                {
                    Row.ReceivedNs = Row.EndNs;
                    Exchange.Decode(Response.ToArray(), Row);
                }
            }
            catch (Exception error)
            {
                Row.EndNs = Clock.NowNs();
                Row.Fail(abortKind ?? ClassifyError(error), error.Message);
            }
            RecordConnection();
        }

        void Send()
        {
            request.ContentLength = bodyLength;
            using (var stream = request.GetRequestStream())
            {
                if (opened != null)
                    Row.TlsNs = Clock.NowNs();
                stream.Write(body, 0, bodyLength);
            }
            Row.RequestSentNs = Clock.NowNs();
            Row.RequestBytes = bodyLength;
        }

        /// <summary>Returns the response, whatever its status, when its headers have arrived.</summary>
        HttpWebResponse GetResponse()
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
            if (session.Setup.IsPlaintext)
                opened = Connection.CreateIfNew(request);
            Row.Status = (int)response.StatusCode;
            Row.Protocol = response.ProtocolVersion == HttpVersion.Version11 ? "h1" : "HTTP/" + response.ProtocolVersion;
            using (var stream = response.GetResponseStream())
            {
                int count;
                do
                {
                    var buffer = Response.GetBuffer();
                    count = stream.Read(buffer.Array, buffer.Offset, buffer.Count);
                    Response.Advance(count);
                }
                while (count > 0);
            }
            // Mono takes the end of the connection for the end of the body.
            if (response.ContentLength > Response.Length)
                throw new IOException($"the body ended after {Response.Length} of {response.ContentLength} bytes");
        }

        /// <summary>
        /// Validates the server's certificate. Called only in the handshake of the call that opens
        /// a connection.
        /// </summary>
        bool Validate(object sender, X509Certificate certificate, X509Chain chain, SslPolicyErrors errors)
        {
            opened = Connection.Create(request);
            return session.Authorities.Trusts(chain, errors);
        }

        /// <summary>Records the call's connection in the row.</summary>
        void RecordConnection()
        {
            if (Row.ErrorKind == "dns" || Row.ErrorKind == "connect" || Row.ErrorKind == "tls")
                return;
            if (Row.ErrorKind != null && abortKind != null && !abortedConnected)
                return;
            var connection = opened ?? Connection.Of(request);
            if (connection == null)
                return;
            if (connection.Number == 0)
                connection.Number = session.NextNumber();
            Row.Connection = connection.Number;
            Row.LocalPort = connection.LocalPort;
            Row.Reused = opened == null;
            Row.Attempts = 1;
        }

        static string ClassifyError(Exception error)
        {
            if (error is IOException)
                return "reset";
            switch ((error as WebException)?.Status)
            {
                case WebExceptionStatus.NameResolutionFailure: return "dns";
                case WebExceptionStatus.ConnectFailure: return "connect";
                case WebExceptionStatus.TrustFailure: case WebExceptionStatus.SecureChannelFailure: return "tls";
                case WebExceptionStatus.Timeout: return "timeout";
                case WebExceptionStatus.ServerProtocolViolation: return "protocol";
                case WebExceptionStatus.SendFailure: case WebExceptionStatus.ReceiveFailure:
                case WebExceptionStatus.ConnectionClosed: case WebExceptionStatus.KeepAliveFailure: return "reset";
                default: return "other";
            }
        }
    }
}
