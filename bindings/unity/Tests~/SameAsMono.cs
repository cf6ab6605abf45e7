using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Http;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Commute.Client;

namespace CommuteTests
{
    /// <summary>Each case runs with Mono's own handler and with commute's, and must have the same outcome.</summary>
    public static class SameAsMono
    {
        public static Task Defaults()
        {
            var theirs = new HttpClientHandler();
            using (var ours = new CommuteHandler(new CommuteEngine(), true))
            {
                Expect.Equal(theirs.AllowAutoRedirect, ours.AllowAutoRedirect);
                Expect.Equal(theirs.MaxAutomaticRedirections, ours.MaxAutomaticRedirections);
                Expect.Equal(theirs.UseCookies, ours.UseCookies);
                Expect.Equal(theirs.UseProxy, ours.UseProxy);
                Expect.Equal(theirs.Proxy, ours.Proxy);
                Expect.Equal(theirs.AutomaticDecompression, ours.AutomaticDecompression);
            }
            return Done;
        }

        public static Task Get() => Same(async client =>
        {
            using (var response = await client.GetAsync("echo"))
                return await Describe(response);
        });

        public static Task StatusesAreNoExceptions() => Same(async client =>
        {
            var all = "";
            foreach (var status in new[] { 200, 204, 304, 400, 404, 500, 503 })
                using (var response = await client.GetAsync("status/" + status))
                    all += await Describe(response);
            return all;
        });

        public static Task Head() => Same(async client =>
        {
            using (var response = await client.SendAsync(new HttpRequestMessage(HttpMethod.Head, "echo")))
                return (int)response.StatusCode + " " + (await response.Content.ReadAsByteArrayAsync()).Length;
        });

        public static Task AnyMethod() => Same(async client =>
        {
            var all = "";
            foreach (var method in new[] { "PUT", "DELETE", "OPTIONS", "PATCH", "PROPFIND" })
                using (var response = await client.SendAsync(new HttpRequestMessage(new HttpMethod(method), "echo")))
                    all += await response.Content.ReadAsStringAsync();
            return all;
        });

        public static Task FieldsAreSent() => Same(async client =>
        {
            var request = new HttpRequestMessage(HttpMethod.Get, "fields?a=%20b&c=d#fragment");
            request.Headers.Add("x-one", "1");
            request.Headers.Add("x-two", new[] { "2", "3" });
            request.Headers.Accept.ParseAdd("text/html, */*;q=0.5");
            request.Headers.UserAgent.ParseAdd("game/1.0 (phone)");
            request.Headers.IfNoneMatch.ParseAdd("\"tag\"");
            using (var response = await client.SendAsync(request))
                return await response.Content.ReadAsStringAsync();
        });

        public static Task PostAString() => Same(async client =>
        {
            using (var response = await client.PostAsync("echo", new StringContent("{\"a\":\"\u00e4\"}", Encoding.UTF8, "application/json")))
                return await Describe(response);
        });

        public static Task PostAForm() => Same(async client =>
        {
            var form = new FormUrlEncodedContent(new Dictionary<string, string> { ["a"] = "1 2", ["b"] = "&" });
            using (var response = await client.PostAsync("echo", form))
                return await Describe(response);
        });

        public static Task PostNothing() => Same(async client =>
        {
            using (var response = await client.PostAsync("echo", new ByteArrayContent(new byte[0])))
                return await Describe(response);
        });

        public static Task PostAStream() => Same(async client =>
        {
            var body = new byte[1500000];
            new Random(7).NextBytes(body);
            using (var response = await client.PostAsync("echo", new StreamContent(new MemoryStream(body))))
            {
                var echo = await response.Content.ReadAsByteArrayAsync();
                return echo.Length + " " + echo.Skip("POST\n".Length).SequenceEqual(body);
            }
        });

        public static Task PostWithoutALength() => Same(async client =>
        {
            using (var response = await client.PostAsync("echo", new Pieces(50, 3000)))
                return (await response.Content.ReadAsByteArrayAsync()).Length.ToString();
        });

        public static Task ABodyThatThrows() => Same(async client =>
        {
            var all = "";
            foreach (var body in new HttpContent[] { new Pieces(50, 3000, throwAt: 20), new Pieces(3, 3000, throwAt: 2, knownLength: true) })
                all += Names(await Expect.Throws<Exception>(() => client.PostAsync("echo", body)));
            return all;
        });

        public static Task Redirects() => Same(async client =>
        {
            var all = "";
            foreach (var status in new[] { 301, 302, 303, 307 })
                foreach (var method in new[] { "GET", "POST" })
                {
                    var request = new HttpRequestMessage(new HttpMethod(method), "to/" + status + "?location=/echo");
                    if (method == "POST")
                        request.Content = new StringContent("body");
                    using (var response = await client.SendAsync(request))
                        all += status + " " + method + ": " + await response.Content.ReadAsStringAsync()
                            + " at " + response.RequestMessage.RequestUri.PathAndQuery + "\n";
                }
            return all;
        });

        public static Task RedirectsToARelativePath() => Same(async client =>
        {
            using (var response = await client.GetAsync("to/302?location=../fields"))
                return await Describe(response) + response.RequestMessage.RequestUri.PathAndQuery;
        });

        public static Task RedirectsOff() => Same(async client =>
        {
            using (var response = await client.GetAsync("to/302?location=/echo"))
                return await Describe(response) + response.Headers.Location;
        }, (ours, theirs) => ours.AllowAutoRedirect = theirs.AllowAutoRedirect = false);

        public static Task FiftyRedirects() => Same(async client =>
        {
            using (var response = await client.GetAsync("loop/50"))
                return await response.Content.ReadAsStringAsync();
        });

        public static Task MoreThanFiftyRedirects() => Same(async client =>
        {
            using (var response = await client.GetAsync("loop/51"))
                return await Describe(response);
        });

        public static Task AuthorizationOfARedirect() => Same(async client =>
        {
            var request = new HttpRequestMessage(HttpMethod.Get, "to/302?location=/fields");
            request.Headers.Add("authorization", "Bearer secret");
            using (var response = await client.SendAsync(request))
                return await response.Content.ReadAsStringAsync();
        });

        public static Task CookiesThatExpire() => Same(async client =>
        {
            var set = "e=5; Expires=Wed, 01 Jan 2070 00:00:00 GMT; Path=/; Secure; HttpOnly";
            using (var response = await client.GetAsync("set?c=" + Uri.EscapeDataString(set) + "&c=f%3D6%3B%20Path%3D%2F"))
                return string.Join("|", response.Headers.GetValues("set-cookie")) + "\n" + await client.GetStringAsync("fields");
        });

        public static Task Cookies() => Same(async client =>
        {
            await client.GetStringAsync("set?c=a%3D1&c=b%3D2%3B%20Path%3D%2Ffields&c=c%3D3%3B%20Path%3D%2Felsewhere&c=d%3D4%3B%20Max-Age%3D0");
            return await client.GetStringAsync("fields") + await client.GetStringAsync("fields");
        });

        public static Task CookiesOfARedirect() => Same(async client =>
        {
            await client.GetStringAsync("set?c=a%3D1%3B%20Path%3D%2F");
            return await client.GetStringAsync("to/302?location=/fields");
        });

        public static Task CookiesOff() => Same(async client =>
        {
            await client.GetStringAsync("set?c=a%3D1%3B%20Path%3D%2F");
            return await client.GetStringAsync("fields");
        }, (ours, theirs) => ours.UseCookies = theirs.UseCookies = false);

        public static Task AJarOfCookies() => Same(async client =>
        {
            return await client.GetStringAsync("fields");
        }, (ours, theirs) =>
        {
            ours.CookieContainer.Add(new Uri(Setting.Site), new Cookie("mine", "1"));
            theirs.CookieContainer.Add(new Uri(Setting.Site), new Cookie("mine", "1"));
        });

        public static Task CompressedUnasked() => Same(async client =>
        {
            using (var response = await client.GetAsync("gzip"))
                return string.Join(",", response.Content.Headers.ContentEncoding)
                    + (await response.Content.ReadAsByteArrayAsync()).Length;
        });

        public static Task Decompressed() => Same(async client =>
        {
            var all = "";
            foreach (var encoding in new[] { "gzip", "deflate" })
                using (var response = await client.GetAsync(encoding))
                    all += await response.Content.ReadAsStringAsync();
            return all + await client.GetStringAsync("fields");
        }, (ours, theirs) => ours.AutomaticDecompression = theirs.AutomaticDecompression =
            DecompressionMethods.GZip | DecompressionMethods.Deflate);

        public static Task TimeOut() => Same(async client =>
        {
            client.Timeout = TimeSpan.FromMilliseconds(300);
            return (await Expect.Throws<OperationCanceledException>(() => client.GetAsync("stall"))).GetType().Name;
        });

        public static Task CancelledBeforeTheHead() => Same(async client =>
        {
            using (var source = new CancellationTokenSource(200))
                return (await Expect.Throws<OperationCanceledException>(() => client.GetAsync("stall", source.Token))).GetType().Name;
        });

        public static Task TimeOutInTheBody() => Same(async client =>
        {
            client.Timeout = TimeSpan.FromMilliseconds(300);
            return Names(await Expect.Throws<Exception>(() => client.GetAsync("endless")));
        });

        public static Task CancelledInTheBody() => Same(async client =>
        {
            using (var source = new CancellationTokenSource(300))
                return Names(await Expect.Throws<Exception>(() => client.GetAsync("endless", source.Token)));
        });

        public static Task ABodyThatBreaksOff() => Same(async client =>
        {
            var error = await Expect.Throws<Exception>(() => client.GetAsync("cut"));
            using (var body = await client.GetStreamAsync("cut"))
                return Names(error) + Names(await Expect.Throws<Exception>(() => body.CopyToAsync(Stream.Null)));
        });

        public static Task ABodyThatIsTooLarge() => Same(async client =>
        {
            client.MaxResponseContentBufferSize = 100;
            return Names(await Expect.Throws<Exception>(() => client.GetAsync("gzip")));
        });

        public static Task CancelledFromTheStart() => Same(async client =>
        {
            using (var source = new CancellationTokenSource())
            {
                source.Cancel();
                return (await Expect.Throws<OperationCanceledException>(() => client.GetAsync("echo", source.Token))).GetType().Name;
            }
        });

        public static Task NoSuchName() => Same(async client =>
            (await Expect.Throws<HttpRequestException>(() => client.GetAsync("https://name.invalid/"))).GetType().Name);

        public static Task NobodyListens() => Same(async client =>
            (await Expect.Throws<HttpRequestException>(() => client.GetAsync("https://localhost:1/"))).GetType().Name);

        /// <summary>
        /// Returns the types of an exception and those inside, but for what only one handler says there.
        /// </summary>
        static string Names(Exception error) =>
            error == null || error is CommuteException ? "\n"
            : error is OperationCanceledException ? error.GetType().Name + "\n"
            : error.GetType().Name + ": " + Names(error.InnerException);

        /// <summary>What README.md names.</summary>
        public static async Task DiffersAsTheReadmeSays()
        {
            var seen = new List<string>();
            await Both(async client =>
            {
                var request = new HttpRequestMessage(HttpMethod.Post, "fields") { Content = new StringContent("body") };
                request.Headers.ExpectContinue = true;
                using (var response = await client.SendAsync(request))
                    seen.Add(response.Version + " " + (await response.Content.ReadAsStringAsync()).Contains("expect: 100-continue"));
            });
            Expect.Equal("1.1 True, 2.0 False", string.Join(", ", seen));
        }

        static readonly Task Done = Task.FromResult(true);

        static async Task Same(Func<HttpClient, Task<string>> run, Action<CommuteHandler, HttpClientHandler> configure = null)
        {
            var outcomes = new List<string>();
            await Both(async client => outcomes.Add(await run(client)), configure);
            Expect.Equal(outcomes[0], outcomes[1], "Mono's handler and commute's differ");
        }

        /// <summary>Runs a case with Mono's handler, then with commute's.</summary>
        static async Task Both(Func<HttpClient, Task> run, Action<CommuteHandler, HttpClientHandler> configure = null)
        {
            using (var theirs = new HttpClientHandler())
            using (var ours = new CommuteHandler(new CommuteEngine(Setting.ForSite()), true))
            {
                // The site's certificate is its own root.
                theirs.ServerCertificateCustomValidationCallback = (message, certificate, chain, errors) => true;
                configure?.Invoke(ours, theirs);
                foreach (var handler in new HttpMessageHandler[] { theirs, ours })
                    using (var client = new HttpClient(handler, false) { BaseAddress = new Uri(Setting.Site) })
                        await run(client);
            }
        }

        static async Task<string> Describe(HttpResponseMessage response) =>
            (int)response.StatusCode + " " + response.Content.Headers.ContentType + " "
            + response.Content.Headers.ContentLength + " " + await response.Content.ReadAsStringAsync() + "\n";
    }

    /// <summary>A body in pieces, whose length may not be known, and which may throw.</summary>
    sealed class Pieces : HttpContent
    {
        readonly int count, bytes, throwAt;
        readonly bool knownLength;

        public Pieces(int count, int bytes, int throwAt = -1, bool knownLength = false)
        {
            this.knownLength = knownLength;
            this.count = count;
            this.bytes = bytes;
            this.throwAt = throwAt;
        }

        protected override async Task SerializeToStreamAsync(Stream stream, TransportContext context)
        {
            for (var index = 0; index < count; index++)
            {
                if (index == throwAt)
                    throw new InvalidOperationException("the body ran out of ideas");
                await stream.WriteAsync(new byte[bytes], 0, bytes);
            }
        }

        protected override bool TryComputeLength(out long length)
        {
            length = count * bytes;
            return knownLength;
        }
    }
}
