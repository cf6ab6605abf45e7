using System;
using System.Collections.Generic;
using System.Net;
using System.Net.Http;
using System.Threading;
using System.Threading.Tasks;

namespace Commute.Client
{
    /// <summary>Proxies: the engine uses none, so requests that need one are sent by another handler.</summary>
    static class Proxies
    {
        /// <summary>Returns the proxy that applies to a URL; null: none does.</summary>
        /// <param name="url">An absolute URL.</param>
        /// <param name="proxy">The app's proxies; null: those of the system, as far as .NET reads them.</param>
        /// <exception cref="HttpRequestException">The proxies' own code failed.</exception>
        public static Uri Find(Uri url, IWebProxy proxy)
        {
            try
            {
                proxy = InUse(proxy);
                if (proxy == null || proxy.IsBypassed(url))
                    return null;
                var through = proxy.GetProxy(url);
                // Some implementations return the URL itself for a direct connection.
                return through == url ? null : through;
            }
            catch (Exception error)
            {
                throw new HttpRequestException("the proxy for " + url.Authority + " could not be found: " + error.Message, error);
            }
        }

        /// <summary>Returns the error of a request that needs a proxy and has no handler that may use one.</summary>
        public static CommuteException Refused(Uri url, string remedy) => new CommuteException(
            CommuteStatus.Plain, false, "a proxy applies to " + url.Authority + ", and the engine uses none: " + remedy);

        /// <summary>Returns the same error as HttpClient's callers know it.</summary>
        public static HttpRequestException RefusedRequest(Uri url, string remedy)
        {
            var refused = Refused(url, remedy);
            return new HttpRequestException(refused.Message, refused);
        }

        /// <summary>Throws if a handler is known to send a request another way than through the proxy found for it.</summary>
        /// <param name="handler">The app's handler, which may be inside of DelegatingHandlers.</param>
        /// <param name="url">The request's URL.</param>
        /// <param name="proxy">The app's proxies, as for <c>Find</c>.</param>
        /// <param name="found">The proxy that <c>Find</c> returned.</param>
        public static void RequireSame(HttpMessageHandler handler, Uri url, IWebProxy proxy, Uri found)
        {
            for (var outer = handler as DelegatingHandler; outer != null; outer = handler as DelegatingHandler)
                handler = outer.InnerHandler;
            var known = handler as HttpClientHandler;
            if (known == null)
                return;
            // Without a proxy of its own, it looks for the system's elsewhere than Find does, or nowhere.
            var uses = known.UseProxy ? known.Proxy : null;
            if (uses != null && (ReferenceEquals(uses, InUse(proxy)) || Find(url, uses) == found))
                return;
            throw RefusedRequest(url, "ProxyHandler does not use that proxy; set its Proxy to CommuteHandler's, and UseProxy");
        }

        static IWebProxy InUse(IWebProxy proxy) => proxy ?? WebRequest.DefaultWebProxy;

        /// <summary>Sends one request by another handler, with these header fields besides its own.</summary>
        public static async Task<HttpResponseMessage> SendAsync(
            HttpMessageHandler handler, HttpRequestMessage request, List<KeyValuePair<string, string>> extra, CancellationToken token)
        {
            request.Properties.Remove(RouteReport.Property);
            IEnumerable<string> own;
            var before = request.Headers.TryGetValues("Cookie", out own) ? string.Join("; ", own) : null;
            foreach (var field in extra)
            {
                var isCookie = field.Key == "cookie";
                request.Headers.Remove(field.Key);
                request.Headers.TryAddWithoutValidation(
                    field.Key, isCookie && before != null ? before + "; " + field.Value : field.Value);
            }
            try
            {
                using (var invoker = new HttpMessageInvoker(handler, false))
                    return await invoker.SendAsync(request, token).ConfigureAwait(false);
            }
            finally
            {
                // A redirect may send the request again, with other fields.
                foreach (var field in extra)
                    request.Headers.Remove(field.Key);
                if (before != null)
                {
                    request.Headers.Remove("Cookie");
                    request.Headers.TryAddWithoutValidation("Cookie", before);
                }
            }
        }

        /// <summary>
        /// One proxy for all URLs. HttpClientHandler connects directly where the app's own proxies fail, or do not apply any
        /// more when it asks them again.
        /// </summary>
        public sealed class Fixed : IWebProxy
        {
            readonly Uri found;
            readonly IWebProxy proxy;

            /// <param name="found">The proxy that <c>Find</c> returned.</param>
            /// <param name="proxy">The app's proxies, as for <c>Find</c>; they have the credentials.</param>
            public Fixed(Uri found, IWebProxy proxy)
            {
                this.found = found;
                this.proxy = proxy;
            }

            public ICredentials Credentials
            {
                get { return InUse(proxy)?.Credentials; }
                set { throw new NotSupportedException("the app's proxies have the credentials"); }
            }

            public Uri GetProxy(Uri url) => found;

            public bool IsBypassed(Uri url) => false;
        }
    }
}
