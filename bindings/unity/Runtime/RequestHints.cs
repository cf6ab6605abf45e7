using System.Net.Http;

namespace Commute.Client
{
    /// <summary>What an app knows of a request and the engine cannot see.</summary>
    public sealed class RequestHints
    {
        internal const string Property = "Commute.RequestHints";

        /// <summary>
        /// Requests with the same label are compared with each other to learn which transport is faster, e.g. the
        /// route's pattern, <c>/v1/users/{id}</c>; null: those with the same method are.
        /// </summary>
        public string Label;
        /// <summary>Whether it is never taken to learn from.</summary>
        public bool Urgent;
        /// <summary>
        /// Whether it may be sent twice, although its method does not say so, e.g. a POST with an
        /// <c>Idempotency-Key</c>. Bodies that are streamed are not sent again.
        /// </summary>
        public bool Replayable;

        /// <summary>Whether it may be sent before the handshake is done; null: as <c>EngineOptions.EarlyData</c> says.</summary>
        public bool? EarlyData;

        /// <summary>
        /// Whether the engine may send the request again by itself, which it does where that is safe. Redirects are followed
        /// either way.
        /// </summary>
        public bool Resends = true;

        internal uint Flags => (Replayable ? Native.Replayable : 0) | (Urgent ? Native.Urgent : 0) | (Resends ? 0 : Native.NoResends)
            | (EarlyData == true ? Native.EarlyData : EarlyData == false ? Native.NoEarlyData : 0);

        internal static RequestHints Of(HttpRequestMessage request)
        {
            object hints;
            return request.Properties.TryGetValue(Property, out hints) ? (RequestHints)hints : new RequestHints();
        }
    }
}
