using System;
using System.IO;
using System.Net;
using System.Net.Security;
using System.Security.Cryptography.X509Certificates;
using System.Text;

namespace Commute
{
    sealed class WebRequestCall : Call
    {
        readonly WebRequestSession session;
        byte[] body;
        int bodyLength;
        readonly object door = new object();
        HttpWebRequest request;
        Connection opened;
        string givenUp;
        bool givenUpConnected;

        public WebRequestCall(WebRequestSession session, Step step) : base(session, step)
        {
            this.session = session;
            if (step.Kind == "call")
            {
                body = Encoding.UTF8.GetBytes(step.Body);
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
                if (request == null)
                    return;
                givenUpConnected = Connection.IsOpen(request);
                request.Abort();
            }
        }

        void Ask(string group)
        {
            var asked = (HttpWebRequest)WebRequest.Create(new Uri(session.Setup.Url, Step.Path));
            asked.Method = Step.Method;
            foreach (var header in session.Setup.Headers(Step))
                if (header.Key == "content-type")
                    asked.ContentType = header.Value;
                else
                    asked.Headers[header.Key] = header.Value;
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
                if (Exchange != null)
                {
                    body = Exchange.Encode(Row);
                    bodyLength = body.Length;
                }
                if (body != null)
                    Send();
                using (var response = Respond())
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
                Row.Fail(givenUp ?? Kind(error), error.Message);
            }
            Attribute();
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
            opened = Connection.Opened(request);
            return session.Trust.Believes(chain, errors);
        }

        /// Which connection the call was on.
        void Attribute()
        {
            if (Row.ErrorKind == "dns" || Row.ErrorKind == "connect" || Row.ErrorKind == "tls")
                return;
            if (Row.ErrorKind != null && givenUp != null && !givenUpConnected)
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
