using System;
using System.Collections.Generic;
using System.IO;
using System.Net;
using System.Net.Http;
using System.Net.Sockets;
using System.Text;
using System.Threading.Tasks;
using Commute.Client;

namespace CommuteTests
{
    /// <summary>Requests to which a proxy applies: none may reach the server by another way.</summary>
    public static class ProxyCases
    {
        public static async Task AProxyIsUsed()
        {
            using (var proxy = new Tunnels())
            using (var client = Client(proxy.Address, true))
            {
                using (var response = await client.GetAsync("echo"))
                {
                    Expect.Equal("GET\n", await response.Content.ReadAsStringAsync());
                    Expect.True(response.CommuteReport() == null, "not by the engine");
                }
                Expect.Equal(Authority, proxy.Asked());
            }
        }

        public static async Task TheProxyOfTheSystemIsUsed()
        {
            using (var proxy = new Tunnels())
            using (var client = Client(null, true, WebRequest.DefaultWebProxy = proxy.Address))
                try
                {
                    Expect.Equal("GET\n", await client.GetStringAsync("echo"));
                    Expect.Equal(Authority, proxy.Asked());
                }
                finally
                {
                    WebRequest.DefaultWebProxy = null;
                }
        }

        /// <summary>HttpClientHandler looks elsewhere for it, or nowhere.</summary>
        public static async Task ThePlatformsHandlerUsesTheProxyOfTheSystemToo()
        {
            using (var first = new Tunnels())
            using (var second = new Tunnels())
            using (var client = new HttpClient(new CommuteHandler()) { BaseAddress = new Uri(Setting.Site) })
                try
                {
                    foreach (var proxy in new[] { first, second })
                    {
                        WebRequest.DefaultWebProxy = proxy.Address;
                        // The platform does not trust the site's certificate.
                        await Expect.Throws<HttpRequestException>(() => client.GetAsync("echo"));
                        Expect.Equal(Authority, proxy.Asked(), proxy == first ? "at first" : "after a change");
                    }
                    Expect.Equal("", first.Asked());
                }
                finally
                {
                    WebRequest.DefaultWebProxy = null;
                }
        }

        /// <summary>HttpClientHandler would ask it again.</summary>
        public static async Task AProxyIsAskedOnceForARequest()
        {
            using (var proxy = new Tunnels())
            using (var client = new HttpClient(new CommuteHandler { Proxy = new Once(proxy.Url) }) { BaseAddress = new Uri(Setting.Site) })
            {
                await Expect.Throws<HttpRequestException>(() => client.GetAsync("echo"));
                Expect.Equal(Authority, proxy.Asked());
            }
        }

        public static async Task ConnectionsAreOpenedOnlyWhereNoProxyApplies()
        {
            var url = new Uri(Setting.Site);
            using (var proxy = new Tunnels())
            using (var engine = new CommuteEngine(Setting.ForSite()))
                try
                {
                    foreach (var isOfSystem in new[] { false, true })
                    {
                        WebRequest.DefaultWebProxy = isOfSystem ? proxy.Address : null;
                        var proxied = new CommuteHandler(engine) { Proxy = isOfSystem ? null : proxy.Address };
                        var refused = await Expect.Throws<CommuteException>(() => proxied.ConnectAsync(url));
                        Expect.Equal(CommuteStatus.Plain, refused.Status);
                    }
                    await new CommuteHandler(engine) { UseProxy = false }.ConnectAsync(url);
                    await new CommuteHandler(engine) { Proxy = new WebProxy() }.ConnectAsync(url);
                    Expect.Equal("", proxy.Asked());
                }
                finally
                {
                    WebRequest.DefaultWebProxy = null;
                }
        }

        public static async Task AHandlerThatWouldNotUseTheProxyIsRefused()
        {
            using (var proxy = new Tunnels())
            using (var other = new Tunnels())
                foreach (var handler in new HttpMessageHandler[]
                {
                    Trusting(null),
                    Trusting(new WebProxy()),
                    Trusting(new WebProxy(proxy.Url, false, new[] { "localhost" })),
                    Trusting(other.Address),
                    new HttpClientHandler { Proxy = proxy.Address, UseProxy = false },
                    new Around(new Around(Trusting(null))),
                })
                    using (var client = Client(proxy.Address, false, null, outer => outer.ProxyHandler = handler))
                    {
                        var error = await Expect.Throws<HttpRequestException>(() => client.GetAsync("echo"));
                        Expect.Equal(CommuteStatus.Plain, ((CommuteException)error.InnerException).Status);
                        Expect.True(error.Message.Contains("ProxyHandler"), error.Message);
                        Expect.Equal("", proxy.Asked() + other.Asked());
                    }
        }

        public static async Task AHandlerThatUsesTheSameProxyIsTaken()
        {
            using (var proxy = new Tunnels())
                foreach (var handler in new HttpMessageHandler[] { Trusting(proxy.Address), new Around(Trusting(proxy.Address)) })
                    using (var client = Client(proxy.Address, false, null, outer => outer.ProxyHandler = handler))
                    {
                        Expect.Equal("GET\n", await client.GetStringAsync("echo"));
                        Expect.Equal(Authority, proxy.Asked());
                    }
        }

        /// <summary>As for HttpClientHandler. A handler that has sent a request would keep the old proxy.</summary>
        public static async Task TheFirstRequestFixesTheProxy()
        {
            foreach (var connects in new[] { false, true })
                using (var handler = new CommuteHandler(new CommuteEngine(Setting.ForSite()), true))
                using (var client = new HttpClient(handler, false))
                {
                    handler.Proxy = null;
                    handler.UseProxy = true;
                    handler.ProxyHandler = null;
                    if (connects)
                        await handler.ConnectAsync(new Uri(Setting.Site));
                    else
                        await client.GetStringAsync(Setting.Site + "echo");
                    foreach (var change in new Action[]
                    {
                        () => handler.Proxy = new WebProxy(), () => handler.UseProxy = false,
                        () => handler.ProxyHandler = new HttpClientHandler(),
                    })
                        await Expect.Throws<InvalidOperationException>(() => Task.Run(change));
                    handler.ConnectTimeout = TimeSpan.FromSeconds(10);
                }
        }

        public static async Task AProxyCanBeBypassed()
        {
            using (var proxy = new Tunnels())
            {
                foreach (var settings in new Action<CommuteHandler>[]
                {
                    handler => handler.UseProxy = false,
                    handler => handler.Proxy = new WebProxy(proxy.Url, false, new[] { "localhost" }),
                    handler => handler.Proxy = new WebProxy(),
                })
                    using (var client = Client(proxy.Address, true, null, settings))
                    using (var response = await client.GetAsync("echo"))
                        Expect.True(response.CommuteReport() != null, "by the engine");
                Expect.Equal("", proxy.Asked());
            }
        }

        public static async Task AProxyThatIsGoneIsNoReasonToConnectDirectly()
        {
            using (var client = Client(new Through(new Uri("http://localhost:1")), true))
                await Expect.Throws<HttpRequestException>(() => client.GetAsync("echo"));
        }

        public static async Task AProxyThatCannotBeFoundIsNoReasonEither()
        {
            using (var client = Client(new Failing(), true))
            {
                var error = await Expect.Throws<HttpRequestException>(() => client.GetAsync("echo"));
                Expect.True(error.Message.Contains("on purpose"), error.Message);
            }
        }

        /// <summary>The platform would trust other authorities than the engine does.</summary>
        public static async Task CertificatesOfTheEnginesOwnNeedAHandler()
        {
            using (var proxy = new Tunnels())
            using (var client = Client(proxy.Address, false))
            {
                var error = await Expect.Throws<HttpRequestException>(() => client.GetAsync("echo"));
                Expect.Equal(CommuteStatus.Plain, ((CommuteException)error.InnerException).Status);
                Expect.True(error.Message.Contains("ProxyHandler"), error.Message);
                Expect.Equal("", proxy.Asked());
            }
        }

        public static async Task WithoutThemThePlatformsHandlerIsUsed()
        {
            using (var proxy = new Tunnels())
            using (var client = new HttpClient(new CommuteHandler { Proxy = proxy.Address }) { BaseAddress = new Uri(Setting.Site) })
            {
                // The platform does not trust the site's certificate.
                await Expect.Throws<HttpRequestException>(() => client.GetAsync("echo"));
                Expect.Equal(Authority, proxy.Asked());
            }
        }

        public static async Task CookiesRedirectsAndCodingsWorkThroughAProxy()
        {
            using (var proxy = new Tunnels())
            using (var client = Client(proxy.Address, true, null, handler => handler.AutomaticDecompression = DecompressionMethods.GZip))
            {
                await client.GetStringAsync("set?c=a%3D1%3B%20Path%3D%2F");
                var request = new HttpRequestMessage(HttpMethod.Get, "to/302?location=/fields");
                request.Headers.Add("cookie", "mine=2");
                using (var response = await client.SendAsync(request))
                {
                    var fields = await response.Content.ReadAsStringAsync();
                    Expect.True(fields.Contains("cookie: mine=2; a=1\n"), fields);
                    Expect.True(fields.Contains("accept-encoding: gzip\n"), fields);
                    Expect.Equal("/fields", response.RequestMessage.RequestUri.AbsolutePath);
                }
                Expect.True((await client.GetStringAsync("gzip")).StartsWith("compressed "), "decompressed");
                using (var response = await client.PostAsync("to/307?location=/echo", new StringContent("body")))
                    Expect.Equal("POST\nbody", await response.Content.ReadAsStringAsync());
            }
        }

        static string Authority => new Uri(Setting.Site).Authority;

        /// <param name="proxy">The handler's proxy.</param>
        /// <param name="withHandler">Whether it has a handler for proxies that trusts the site.</param>
        /// <param name="system">The system's proxy, which that handler uses, too.</param>
        /// <param name="configure">Changes the handler.</param>
        static HttpClient Client(IWebProxy proxy, bool withHandler, IWebProxy system = null, Action<CommuteHandler> configure = null)
        {
            var handler = new CommuteHandler(new CommuteEngine(Setting.ForSite()), true) { Proxy = proxy };
            if (withHandler)
                handler.ProxyHandler = Trusting(proxy ?? system);
            configure?.Invoke(handler);
            return new HttpClient(handler) { BaseAddress = new Uri(Setting.Site) };
        }

        static HttpClientHandler Trusting(IWebProxy proxy) => new HttpClientHandler
        {
            Proxy = proxy, UseCookies = false, AllowAutoRedirect = false,
            ServerCertificateCustomValidationCallback = (message, certificate, chain, errors) => true,
        };

        sealed class Around : DelegatingHandler
        {
            public Around(HttpMessageHandler inner) : base(inner)
            {
            }
        }

        /// <summary>A proxy for all URLs: WebProxy leaves those of this machine out.</summary>
        sealed class Through : IWebProxy
        {
            readonly Uri url;

            public Through(Uri url)
            {
                this.url = url;
            }

            public ICredentials Credentials { get; set; }

            public Uri GetProxy(Uri destination) => url;

            public bool IsBypassed(Uri destination) => false;
        }

        /// <summary>A proxy that applies when it is asked for the first time.</summary>
        sealed class Once : IWebProxy
        {
            readonly Uri url;
            bool asked;

            public Once(Uri url)
            {
                this.url = url;
            }

            public ICredentials Credentials { get; set; }

            public Uri GetProxy(Uri destination) => url;

            public bool IsBypassed(Uri destination)
            {
                var before = asked;
                asked = true;
                return before;
            }
        }

        sealed class Failing : IWebProxy
        {
            public ICredentials Credentials { get; set; }

            public Uri GetProxy(Uri url) => throw new InvalidOperationException("on purpose");

            public bool IsBypassed(Uri url) => false;
        }

        /// <summary>A proxy that opens tunnels by CONNECT, wherever they lead.</summary>
        sealed class Tunnels : IDisposable
        {
            readonly TcpListener listener = new TcpListener(IPAddress.Loopback, 0);
            readonly List<string> asked = new List<string>();

            public Tunnels()
            {
                listener.Start();
                Serve();
            }

            public Uri Url => new Uri("http://localhost:" + ((IPEndPoint)listener.LocalEndpoint).Port);

            public IWebProxy Address => new Through(Url);

            /// <summary>Returns where the tunnels since the last call led to, each once.</summary>
            public string Asked()
            {
                lock (asked)
                {
                    var all = string.Join(" ", new HashSet<string>(asked));
                    asked.Clear();
                    return all;
                }
            }

            public void Dispose() => listener.Stop();

            async void Serve()
            {
                try
                {
                    while (true)
                        Tunnel(await listener.AcceptTcpClientAsync());
                }
                catch (Exception)
                {
                    // It was disposed.
                }
            }

            async void Tunnel(TcpClient from)
            {
                using (from)
                    try
                    {
                        var stream = from.GetStream();
                        var head = "";
                        var one = new byte[1];
                        while (!head.EndsWith("\r\n\r\n") && await stream.ReadAsync(one, 0, 1) == 1)
                            head += (char)one[0];
                        var target = head.Split(' ')[1];
                        lock (asked)
                            asked.Add(target);
                        using (var to = new TcpClient())
                        {
                            await to.ConnectAsync("127.0.0.1", int.Parse(target.Split(':')[1]));
                            var established = Encoding.ASCII.GetBytes("HTTP/1.1 200 established\r\n\r\n");
                            await stream.WriteAsync(established, 0, established.Length);
                            await Task.WhenAny(stream.CopyToAsync(to.GetStream()), to.GetStream().CopyToAsync(stream));
                        }
                    }
                    catch (IOException)
                    {
                        // Either end has gone.
                    }
            }
        }
    }
}
