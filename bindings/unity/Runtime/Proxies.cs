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
        /// <summary>Reports whether a proxy applies to a URL.</summary>
        /// <param name="url">An absolute URL.</param>
        /// <param name="proxy">The app's proxies; null: those of the system, as far as .NET reads them.</param>
        /// <exception cref="HttpRequestException">The proxies' own code failed.</exception>
        public static bool Apply(Uri url, IWebProxy proxy)
        {
            try
            {
                proxy = proxy ?? WebRequest.DefaultWebProxy;
                if (proxy == null || proxy.IsBypassed(url))
                    return false;
                var through = proxy.GetProxy(url);
                // Some implementations return the URL itself for a direct connection.
                return through != null && through != url;
            }
            catch (Exception error)
            {
                throw new HttpRequestException("the proxy for " + url.Authority + " could not be found: " + error.Message, error);
            }
        }

        /// <summary>Returns the error of a request that needs a proxy and has no handler that may use one.</summary>
        public static CommuteException Refused(Uri url, string remedy) => new CommuteException(
            CommuteStatus.Plain, false, "a proxy applies to " + url.Authority + ", and the engine uses none: " + remedy);

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
    }
}
