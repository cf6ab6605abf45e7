using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using System.Net.Http;

namespace Commute.Client
{
    /// <summary>How a response came, or how far a request got that has none.</summary>
    public sealed class RouteReport
    {
        internal const string Property = "Commute.RouteReport";

        readonly Dictionary<string, string> values = new Dictionary<string, string>();

        /// <param name="lines">What the engine told.</param>
        /// <param name="now">When it did, by Stopwatch.</param>
        internal RouteReport(List<KeyValuePair<string, string>> lines, long now)
        {
            foreach (var line in lines)
                values[line.Key] = line.Value;
            SubmittedAt = now - (long)((Number("age-ns") ?? 0) * (Stopwatch.Frequency / 1e9));
        }

        /// <summary>When the request was handed to the engine, by <c>Stopwatch.GetTimestamp</c>, if anything was sent.</summary>
        public long SubmittedAt { get; }

        /// <summary>The version of HTTP: <c>http/1.1</c>, <c>h2</c> or <c>h3</c>; empty if nothing was sent.</summary>
        public string Protocol => Value("protocol");

        /// <summary>Why this connection, as a word.</summary>
        public string Why => Value("why");

        /// <summary>The same as a sentence.</summary>
        public string Because => Value("because");

        /// <summary>The connection's number in the engine.</summary>
        public long Connection => Number("connection") ?? 0;

        /// <summary>Whether the connection was open before.</summary>
        public bool Reused => Number("reused") == 1;

        /// <summary>Whether its handshake resumed a TLS session.</summary>
        public bool Resumed => Number("resumed") == 1;

        /// <summary>Whether the server took the request before the handshake was done (0-RTT).</summary>
        public bool EarlyData => Number("early-data") == 1;

        /// <summary>How often the request was sent.</summary>
        public long Attempts => Number("attempts") ?? 0;

        /// <summary>The connection's local port.</summary>
        public int LocalPort => (int)(Number("local-port") ?? 0);

        /// <summary>The name was resolved, in ns after <c>SubmittedAt</c>; null if that was done before.</summary>
        public long? DnsNs => Number("dns-ns");

        /// <summary>TCP was connected, likewise.</summary>
        public long? ConnectNs => Number("connect-ns");

        /// <summary>The handshake was done, likewise.</summary>
        public long? TlsNs => Number("tls-ns");

        /// <summary>The request was handed to the transport, likewise.</summary>
        public long? SentNs => Number("sent-ns");

        /// <summary>The head of the response came, likewise.</summary>
        public long? HeadNs => Number("head-ns");

        string Value(string name)
        {
            string value;
            return values.TryGetValue(name, out value) ? value : "";
        }

        long? Number(string name)
        {
            long number;
            return long.TryParse(Value(name), NumberStyles.None, CultureInfo.InvariantCulture, out number) ? number : (long?)null;
        }
    }

    /// <summary>What commute adds to requests and responses.</summary>
    public static class CommuteMessages
    {
        /// <summary>Gives the engine hints about a request, before it is sent.</summary>
        public static void SetCommuteHints(this HttpRequestMessage request, RequestHints hints) =>
            request.Properties[RequestHints.Property] = hints;

        /// <summary>Returns how the response came; null if commute did not bring it.</summary>
        public static RouteReport CommuteReport(this HttpResponseMessage response) => response.RequestMessage?.CommuteReport();

        /// <summary>Returns how the request fared, even if it failed; null if commute did not send it.</summary>
        public static RouteReport CommuteReport(this HttpRequestMessage request)
        {
            object report;
            return request.Properties.TryGetValue(RouteReport.Property, out report) ? (RouteReport)report : null;
        }
    }
}
