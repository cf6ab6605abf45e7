using System;
using System.Diagnostics;
using System.IO;
using System.Net.Http;
using System.Threading;
using System.Threading.Tasks;
using Commute.Client;

namespace Commute
{
    /// <summary>One asynchronous call.</summary>
    sealed class CommuteCall : Call
    {
        readonly CommuteSession session;
        readonly CancellationTokenSource cancellation = new CancellationTokenSource();
        byte[] body;
        int bodyLength;
        volatile string abortKind;

        public CommuteCall(CommuteSession session, Step step) : base(session, step)
        {
            this.session = session;
            body = step.Kind == "put" ? Seeded.AtLeast(step.Bytes) : session.Setup.Body(step);
            bodyLength = step.Kind == "put" ? (int)step.Bytes : body?.Length ?? 0;
        }

        public override void Start(Action ended)
        {
            var connections = session.Current;
            connections.Group.Enter();
            Task.Run(() => Perform(connections)).ContinueWith(_ =>
            {
                connections.Group.Leave();
                ended();
            });
        }

        public override void Abort(string kind)
        {
            abortKind = kind;
            cancellation.Cancel();
        }

        async Task Perform(CommuteConnections connections)
        {
            var request = new HttpRequestMessage(new HttpMethod(Step.Method), Step.Path);
            Row.StartNs = Clock.NowNs();
            try
            {
                Fill(request);
                using (var response = await connections.Client.SendAsync(
                    request, HttpCompletionOption.ResponseHeadersRead, cancellation.Token).ConfigureAwait(false))
                {
                    Row.Status = (int)response.StatusCode;
                    await Receive(response).ConfigureAwait(false);
                }
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
            if (request.CommuteReport() is RouteReport report && report.Attempts > 0)
                Record(report, connections);
        }

        /// <summary>Adds body and fields to a request.</summary>
        void Fill(HttpRequestMessage request)
        {
            if (Exchange != null)
            {
                body = Exchange.Encode(Row);
                bodyLength = body.Length;
            }
            if (body != null)
                request.Content = new ByteArrayContent(body, 0, bodyLength);
            foreach (var header in session.Setup.Headers(Step))
                Add(request, header.Key, header.Value);
            if (session.Setup.Auth != null)
                foreach (var header in session.Setup.Auth.Prove(Row, Step, session.Setup.Url, body, bodyLength))
                    Add(request, header.Key, header.Value);
        }

        static void Add(HttpRequestMessage request, string name, string value)
        {
            // HttpClient keeps those of the content apart.
            if (!request.Headers.TryAddWithoutValidation(name, value))
                request.Content.Headers.TryAddWithoutValidation(name, value);
        }

        async Task Receive(HttpResponseMessage response)
        {
            using (var stream = await response.Content.ReadAsStreamAsync().ConfigureAwait(false))
            {
                int count;
                do
                {
                    var buffer = Response.GetBuffer();
                    count = await stream.ReadAsync(buffer.Array, buffer.Offset, buffer.Count, cancellation.Token)
                        .ConfigureAwait(false);
                    Response.Advance(count);
                }
                while (count > 0);
            }
        }

        /// <summary>Records how the call fared in the row.</summary>
        void Record(RouteReport report, CommuteConnections connections)
        {
            Row.Connection = connections.Number(report.Connection);
            Row.LocalPort = report.LocalPort;
            Row.Protocol = report.Protocol == "http/1.1" ? "h1" : report.Protocol;
            Row.Reused = report.Reused;
            Row.Resumed = report.Resumed;
            Row.Attempts = (int)report.Attempts;
            Row.DnsNs = At(report, report.DnsNs);
            Row.ConnectNs = At(report, report.ConnectNs);
            Row.TlsNs = At(report, report.TlsNs);
            Row.RequestSentNs = At(report, report.SentNs);
            Row.FirstByteNs = At(report, report.HeadNs);
            if (report.SentNs != null)
                Row.RequestBytes = bodyLength;
        }

        /// <summary>Returns a time of the report in ns of CLOCK_MONOTONIC, which Mono's Stopwatch counts, too.</summary>
        static long? At(RouteReport report, long? afterNs) =>
            report.SubmittedAt * (1000000000 / Stopwatch.Frequency) + afterNs;

        static string ClassifyError(Exception error)
        {
            switch ((error.InnerException as CommuteException)?.Status)
            {
                case CommuteStatus.Name: return "dns";
                case CommuteStatus.Connect: return "connect";
                case CommuteStatus.Tls: case CommuteStatus.Certificate: return "tls";
                case CommuteStatus.Timeout: return "timeout";
                case CommuteStatus.Reset: return "reset";
                case CommuteStatus.Protocol: return "protocol";
                default: return "other";
            }
        }
    }
}
