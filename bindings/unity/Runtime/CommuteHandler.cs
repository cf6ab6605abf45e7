using System;
using System.Collections.Generic;
using System.IO;
using System.Net;
using System.Net.Http;
using System.Threading;
using System.Threading.Tasks;

namespace Commute.Client
{
    /// <summary>
    /// Sends HttpClient's requests over commute's engine. The defaults are those of HttpClientHandler:
    /// redirects are followed, cookies are kept, nothing is decompressed.
    /// </summary>
    public sealed class CommuteHandler : HttpMessageHandler
    {
        readonly bool disposeEngine;
        /// <summary>Handlers of its own, by the URL of their proxy.</summary>
        readonly Dictionary<string, HttpMessageHandler> ownProxyHandlers = new Dictionary<string, HttpMessageHandler>();
        HttpMessageHandler proxyHandler;
        IWebProxy proxy;
        bool useProxy = true;
        volatile bool hasStarted;
        CookieContainer cookies = new CookieContainer();
        TimeSpan connectTimeout = Timeout.InfiniteTimeSpan;
        TimeSpan firstByteTimeout = Timeout.InfiniteTimeSpan;
        TimeSpan idleTimeout = Timeout.InfiniteTimeSpan;

        /// <summary>Makes a handler with an engine of its own.</summary>
        public CommuteHandler() : this(new CommuteEngine(), true)
        {
        }

        /// <summary>Makes a handler on an engine.</summary>
        public CommuteHandler(CommuteEngine engine, bool disposeEngine = false)
        {
            if (engine == null)
                throw new ArgumentNullException("engine");
            Engine = engine;
            this.disposeEngine = disposeEngine;
        }

        /// <summary>Whether redirects are followed; true.</summary>
        public bool AllowAutoRedirect { get; set; } = true;

        /// <summary>After how many redirects the response is the last one; 50.</summary>
        public int MaxAutomaticRedirections { get; set; } = 50;

        /// <summary>Whether cookies are kept and sent; true.</summary>
        public bool UseCookies { get; set; } = true;

        /// <summary>The cookies.</summary>
        public CookieContainer CookieContainer
        {
            get { return cookies; }
            set
            {
                if (value == null)
                    throw new ArgumentNullException("value");
                cookies = value;
            }
        }

        /// <summary>Which content encodings are asked for and undone; none.</summary>
        public DecompressionMethods AutomaticDecompression { get; set; }

        /// <summary>How long a request may wait for a connection, all attempts together, and for another if that fails; infinite.</summary>
        public TimeSpan ConnectTimeout
        {
            get { return connectTimeout; }
            set { connectTimeout = Valid(value); }
        }

        /// <summary>
        /// How long a request may wait for the head of its response, including the wait for a connection; infinite.
        /// </summary>
        public TimeSpan FirstByteTimeout
        {
            get { return firstByteTimeout; }
            set { firstByteTimeout = Valid(value); }
        }

        /// <summary>
        /// The longest time between two pieces of a response's body; infinite. <c>HttpClient.Timeout</c> limits all of it
        /// only where HttpClient reads the body.
        /// </summary>
        public TimeSpan IdleTimeout
        {
            get { return idleTimeout; }
            set { idleTimeout = Valid(value); }
        }

        /// <summary>
        /// Whether requests to which a proxy applies go through it; true. They are sent by <c>ProxyHandler</c>, since the
        /// engine uses no proxy. The first request fixes it.
        /// </summary>
        /// <exception cref="InvalidOperationException">It is set after the first request.</exception>
        public bool UseProxy
        {
            get { return useProxy; }
            set
            {
                RequireNotStarted();
                useProxy = value;
            }
        }

        /// <summary>
        /// The proxies, which are asked before each request; null: <c>WebRequest.DefaultWebProxy</c>. The first request fixes
        /// it.
        /// </summary>
        /// <exception cref="InvalidOperationException">It is set after the first request.</exception>
        public IWebProxy Proxy
        {
            get { return proxy; }
            set
            {
                RequireNotStarted();
                proxy = value;
            }
        }

        /// <summary>
        /// Sends the requests to which a proxy applies; null: HttpClientHandlers that use <c>Proxy</c> and trust the
        /// platform's authorities. With <c>RootsPem</c>, <c>CheckChain</c> or <c>IdentityChainPem</c> of the engine, null
        /// makes these requests fail with <c>CommuteStatus.Plain</c>. The first request fixes it.
        /// <para>
        /// The handler must use the same proxy. If it is an HttpClientHandler that does not, also inside of
        /// DelegatingHandlers, these requests fail with <c>CommuteStatus.Plain</c>. Other handlers are not checked.
        /// </para>
        /// <para>
        /// The handler is not disposed. It must not follow redirects, keep cookies or decompress: CommuteHandler does that
        /// for it, too. <c>ConnectTimeout</c>, <c>FirstByteTimeout</c> and <c>IdleTimeout</c> do not apply to it.
        /// </para>
        /// </summary>
        /// <exception cref="InvalidOperationException">It is set after the first request.</exception>
        public HttpMessageHandler ProxyHandler
        {
            get { return proxyHandler; }
            set
            {
                RequireNotStarted();
                proxyHandler = value;
            }
        }

        /// <summary>
        /// Opens a connection to the server of an <c>https</c> URL, or finds an open one, so that the next request
        /// need not wait for it.
        /// </summary>
        /// <param name="url">The URL.</param>
        /// <exception cref="CommuteException">None can be opened, or a proxy applies; says why.</exception>
        /// <exception cref="HttpRequestException">The URL is not <c>https</c>, or the proxies' own code failed.</exception>
        public async Task ConnectAsync(Uri url)
        {
            hasStarted = true;
            RequireHttps(url);
            if (UseProxy && Proxies.Find(url, Proxy) != null)
                throw Proxies.Refused(url, "connect only where none applies, or set UseProxy to false");
            await Engine.ConnectAsync(url).ConfigureAwait(false);
        }

        internal CommuteEngine Engine { get; }

        protected override async Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken token)
        {
            if (request == null)
                throw new ArgumentNullException("request");
            hasStarted = true;
            for (var redirects = 0; ; redirects++)
            {
                if (token.IsCancellationRequested)
                    throw new TaskCanceledException("the request was cancelled");
                RequireHttps(request.RequestUri);
                var exchange = new Exchange();
                var through = UseProxy ? Proxies.Find(request.RequestUri, Proxy) : null;
                var response = through != null
                    ? await Proxies.SendAsync(HandlerOfProxy(request.RequestUri, through), request, Extra(request), token).ConfigureAwait(false)
                    : await exchange.SendAsync(this, request, Extra(request), token).ConfigureAwait(false);
                if (UseCookies)
                    Keep(response, request.RequestUri);
                var next = AllowAutoRedirect && redirects < MaxAutomaticRedirections
                    ? Redirects.Target(response, request.RequestUri) : null;
                if (next == null)
                    return Decompression.Undo(response, AutomaticDecompression);
                Redirects.Follow(request, response.StatusCode, next);
                response.Dispose();
                if (request.Content != null)
                    // It is read from the beginning again, which two at once cannot.
                    await exchange.UploadedAsync(token).ConfigureAwait(false);
            }
        }

        protected override void Dispose(bool disposing)
        {
            if (disposing && disposeEngine)
                Engine.Dispose();
            if (disposing)
                lock (ownProxyHandlers)
                {
                    foreach (var handler in ownProxyHandlers.Values)
                        handler.Dispose();
                    ownProxyHandlers.Clear();
                }
            base.Dispose(disposing);
        }

        /// <summary>Returns what sends a request through the proxy found for it.</summary>
        HttpMessageHandler HandlerOfProxy(Uri url, Uri through)
        {
            if (ProxyHandler != null)
            {
                Proxies.RequireSame(ProxyHandler, url, Proxy, through);
                return ProxyHandler;
            }
            if (Engine.HasOwnCertificates)
                throw Proxies.RefusedRequest(url, "set ProxyHandler, which must check certificates as the engine does");
            lock (ownProxyHandlers)
            {
                HttpMessageHandler handler;
                if (ownProxyHandlers.TryGetValue(through.AbsoluteUri, out handler))
                    return handler;
                handler = new HttpClientHandler
                {
                    AllowAutoRedirect = false, UseCookies = false, AutomaticDecompression = DecompressionMethods.None,
                    UseProxy = true, Proxy = new Proxies.Fixed(through, Proxy),
                };
                ownProxyHandlers.Add(through.AbsoluteUri, handler);
                return handler;
            }
        }

        /// <summary>Throws if a request was sent: a handler that has sent one keeps its proxy.</summary>
        void RequireNotStarted()
        {
            if (hasStarted)
                throw new InvalidOperationException("set UseProxy, Proxy and ProxyHandler before the first request");
        }

        static TimeSpan Valid(TimeSpan limit)
        {
            if (limit != Timeout.InfiniteTimeSpan && (limit <= TimeSpan.Zero || limit.TotalMilliseconds > int.MaxValue))
                throw new ArgumentOutOfRangeException("value");
            return limit;
        }

        static void RequireHttps(Uri url)
        {
            if (url == null || !url.IsAbsoluteUri)
                throw new InvalidOperationException("the URL of a request is absolute");
            if (url.Scheme != Uri.UriSchemeHttps)
                throw new HttpRequestException("commute takes https only, not " + url.Scheme);
        }

        /// <summary>Returns the header fields that the request's own do not have.</summary>
        List<KeyValuePair<string, string>> Extra(HttpRequestMessage request)
        {
            var fields = new List<KeyValuePair<string, string>>();
            var cookie = UseCookies ? cookies.GetCookieHeader(request.RequestUri) : "";
            if (cookie.Length > 0)
                fields.Add(new KeyValuePair<string, string>("cookie", cookie));
            var encodings = Decompression.Names(AutomaticDecompression);
            if (encodings.Length > 0 && request.Headers.AcceptEncoding.Count == 0)
                fields.Add(new KeyValuePair<string, string>("accept-encoding", encodings));
            return fields;
        }

        void Keep(HttpResponseMessage response, Uri url)
        {
            IEnumerable<string> fields;
            if (!response.Headers.TryGetValues("Set-Cookie", out fields))
                return;
            foreach (var field in fields)
                try
                {
                    cookies.SetCookies(url, field);
                }
                catch (CookieException)
                {
                    // A server's cookie that is not valid is not kept (RFC 6265 section 5.2).
                }
        }
    }
}
