using System;
using System.Net;
using System.Net.Http;

namespace Commute.Client
{
    /// <summary>Follows redirects by the rules of SocketsHttpHandler, and drops credentials when the origin changes.</summary>
    static class Redirects
    {
        /// <summary>Returns where a response redirects to; null if it does not, or to what is not https.</summary>
        public static Uri Target(HttpResponseMessage response, Uri from)
        {
            switch ((int)response.StatusCode)
            {
                case 300: case 301: case 302: case 303: case 307: case 308:
                    break;
                default:
                    return null;
            }
            var location = response.Headers.Location;
            if (location == null)
                return null;
            var target = location.IsAbsoluteUri ? location : new Uri(from, location);
            if (target.Scheme != Uri.UriSchemeHttps)
                return null;
            // RFC 9110 section 10.2.2: the fragment is inherited.
            if (target.Fragment.Length == 0 && from.Fragment.Length > 0)
                target = new UriBuilder(target) { Fragment = from.Fragment.Substring(1) }.Uri;
            return target;
        }

        /// <summary>What the app set for one origin, and what no other may see (RFC 9110 section 15.4).</summary>
        static readonly string[] OfOneOrigin = { "Cookie", "Host", "Proxy-Authorization" };

        /// <summary>Turns a request into the one that follows it.</summary>
        public static void Follow(HttpRequestMessage request, HttpStatusCode status, Uri target)
        {
            // Meant for where it was sent to, not for where that points.
            request.Headers.Authorization = null;
            if (!IsSameOrigin(request.RequestUri, target))
                foreach (var name in OfOneOrigin)
                    request.Headers.Remove(name);
            var toGet = (int)status == 303
                ? request.Method != HttpMethod.Get && request.Method != HttpMethod.Head
                : (int)status <= 302 && request.Method == HttpMethod.Post;
            if (toGet)
            {
                request.Method = HttpMethod.Get;
                request.Content = null;
                if (request.Headers.TransferEncodingChunked == true)
                    request.Headers.TransferEncodingChunked = false;
            }
            request.RequestUri = target;
        }

        static bool IsSameOrigin(Uri one, Uri other) =>
            Uri.Compare(one, other, UriComponents.SchemeAndServer, UriFormat.SafeUnescaped, StringComparison.OrdinalIgnoreCase) == 0;
    }
}
