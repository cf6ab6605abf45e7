using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Http;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Commute.Client;

namespace CommuteTests
{
    /// <summary>What only commute's handler does, or where Mono's own would take too long.</summary>
    public static class Calls
    {
        public static async Task ReportsTellHow()
        {
            var options = Setting.ForServer();
            options.H3Hints.Add(Setting.Server);
            options.Policy = RoutePolicy.Http3;
            using (var client = Client(options))
            using (var response = await client.GetAsync("health"))
            {
                var report = response.CommuteReport();
                Expect.Equal("h3", report.Protocol);
                Expect.Equal(new Version(3, 0), response.Version);
                Expect.True(!report.Reused && report.Attempts == 1 && report.LocalPort > 0, "a first request");
                Expect.True(report.Because.Length > 0 && report.HeadNs > report.TlsNs, "times in order");
            }
        }

        public static async Task AConnectionIsOpenedBefore()
        {
            using (var engine = new CommuteEngine(Setting.ForServer()))
            using (var handler = new CommuteHandler(engine))
            using (var client = new HttpClient(handler))
            {
                await handler.ConnectAsync(new Uri(Setting.Server));
                using (var response = await client.GetAsync(new Uri(new Uri(Setting.Server), "health")))
                    Expect.True(response.CommuteReport().Reused, "the connection that was opened before");
                var failed = await Expect.Throws<CommuteException>(
                    () => handler.ConnectAsync(new Uri("https://nowhere.invalid")));
                Expect.Equal(CommuteStatus.Name, failed.Status);
                await Expect.Throws<HttpRequestException>(() => handler.ConnectAsync(new Uri("http://nowhere.invalid")));
            }
        }

        public static async Task SessionsAreKeptOrForgottenWhenConnectionsAreClosed()
        {
            using (var engine = new CommuteEngine(Setting.ForServer()))
            using (var client = new HttpClient(new CommuteHandler(engine)) { BaseAddress = new Uri(Setting.Server) })
            {
                await client.GetStringAsync("health");
                foreach (var forget in new[] { false, true })
                {
                    engine.Disconnect(forget);
                    using (var response = await client.GetAsync("health"))
                    {
                        Expect.True(!response.CommuteReport().Reused, "another connection");
                        Expect.Equal(!forget, response.CommuteReport().Resumed, "resumed");
                    }
                }
            }
        }

        public static async Task IdleConnectionsAreClosed()
        {
            using (var engine = new CommuteEngine(Setting.ForServer()))
            using (var client = new HttpClient(new CommuteHandler(engine)) { BaseAddress = new Uri(Setting.Server) })
            {
                await client.GetStringAsync("health");
                var reused = true;
                // A connection is idle soon after its response was read.
                while (reused)
                {
                    engine.CloseIdle();
                    using (var response = await client.GetAsync("health"))
                        reused = response.CommuteReport().Reused;
                }
            }
        }

        public static async Task ARequestIsSentOnceIfTheAppSaysSo()
        {
            using (var client = Client(Setting.ForSite(), Setting.Site))
                foreach (var resends in new[] { false, true })
                {
                    var request = new HttpRequestMessage(HttpMethod.Get, "drop");
                    request.SetCommuteHints(new RequestHints { Resends = resends });
                    await Expect.Throws<HttpRequestException>(() => client.SendAsync(request));
                    var report = request.CommuteReport();
                    Expect.Equal(resends, report.Attempts > 1, "attempts: " + report.Attempts);
                }
        }

        public static async Task ACheckOfAChainDoesNotWaitForItsEngine()
        {
            var options = Setting.ForServer();
            options.RootsPem = null;
            CommuteEngine engine = null;
            var statuses = new System.Collections.Concurrent.ConcurrentQueue<CommuteStatus>();
            options.CheckChain = (chain, host) =>
            {
                foreach (var wait in new Action[] { () => engine.Disconnect(false), engine.Save })
                    try
                    {
                        wait();
                        statuses.Enqueue(CommuteStatus.Ok);
                    }
                    catch (CommuteException error)
                    {
                        statuses.Enqueue(error.Status);
                    }
                return true;
            };
            using (engine = new CommuteEngine(options))
            using (var client = new HttpClient(new CommuteHandler(engine)) { BaseAddress = new Uri(Setting.Server) })
                await client.GetStringAsync("health");
            Expect.True(statuses.Count >= 2 && statuses.All(status => status == CommuteStatus.ChainWaits), string.Join(" ", statuses));
        }

        public static async Task RequestsAreSentEarlyWhereTheAppAllowsIt()
        {
            foreach (var allowed in new[] { false, true })
            {
                var options = Setting.ForServer();
                options.H3Hints.Add(Setting.Server);
                options.Policy = RoutePolicy.Http3;
                options.EarlyData = allowed;
                using (var engine = new CommuteEngine(options))
                using (var client = new HttpClient(new CommuteHandler(engine)) { BaseAddress = new Uri(Setting.Server) })
                {
                    await client.GetStringAsync("health");
                    foreach (var hint in new bool?[] { null, !allowed })
                    {
                        // The server's tickets come after the handshake.
                        await Task.Delay(100);
                        engine.Disconnect(false);
                        var request = new HttpRequestMessage(HttpMethod.Get, "health");
                        request.SetCommuteHints(new RequestHints { EarlyData = hint });
                        using (var response = await client.SendAsync(request))
                            Expect.Equal(hint ?? allowed, response.CommuteReport().EarlyData, allowed + " " + hint);
                    }
                }
            }
        }

        public static async Task ARequestWithoutAResponseHasAReport()
        {
            using (var client = Client(Setting.ForSite(), Setting.Site))
            using (var cancel = new CancellationTokenSource(500))
            {
                await client.GetStringAsync("echo");
                var request = new HttpRequestMessage(HttpMethod.Get, "stall");
                await Expect.Throws<OperationCanceledException>(() => client.SendAsync(request, cancel.Token));
                var report = request.CommuteReport();
                Expect.True(report.Protocol == "h2" && report.Reused && report.HeadNs == null, report.Protocol + " " + report.HeadNs);
                var since = Stopwatch.GetTimestamp() - report.SubmittedAt;
                Expect.True(since > 0 && since < 60 * Stopwatch.Frequency, since + " ticks since it was submitted");
            }
        }

        public static async Task FailuresTellWhetherTheServerMayHaveActed()
        {
            using (var client = Client(Setting.ForSite(), Setting.Site))
            {
                using (var cancel = new CancellationTokenSource())
                {
                    var source = new Counting(new MemoryStream(new byte[1000000]));
                    var posting = client.PostAsync("stall", new StreamContent(source), cancel.Token);
                    // What is sent makes room for more than the engine holds.
                    while (source.Bytes < 500000 && !posting.IsCompleted)
                        await Task.Delay(1);
                    cancel.Cancel();
                    Expect.True(MayHaveActed(await Expect.Throws<OperationCanceledException>(() => posting)), "it was sent");
                }
                var malformed = new HttpRequestMessage(HttpMethod.Post, "echo");
                malformed.Headers.TryAddWithoutValidation("x-name", "a\0b");
                Expect.True(!MayHaveActed(await Expect.Throws<HttpRequestException>(() => client.SendAsync(malformed))), "malformed");
            }
            using (var engine = new CommuteEngine(Setting.ForSite()))
            {
                engine.Dispose();
                var refused = await Expect.Throws<CommuteException>(() => engine.ConnectAsync(new Uri(Setting.Site)));
                Expect.True(refused.Status == CommuteStatus.Closed && !refused.MayHaveActed, "refused at once");
                var percent = await Expect.Throws<CommuteException>(() => Task.Run(() => engine.SetSwitches(1, true, 101, true)));
                Expect.True(!percent.MayHaveActed, "no request");
            }
        }

        static bool MayHaveActed(Exception error) => ((CommuteException)error.InnerException).MayHaveActed;

        public static async Task HintsReachTheEngine()
        {
            using (var client = Client(Setting.ForSite(), Setting.Site))
                foreach (var hints in new[] { new RequestHints(), new RequestHints { Label = "/v1/\u00fc", Urgent = true, Replayable = true } })
                {
                    var request = new HttpRequestMessage(HttpMethod.Post, "drop") { Content = new StringContent("body") };
                    request.SetCommuteHints(hints);
                    var failed = await Expect.Throws<HttpRequestException>(() => client.SendAsync(request));
                    Expect.True(MayHaveActed(failed), failed.ToString());
                    Expect.Equal(hints.Replayable ? 3L : 1L, request.CommuteReport().Attempts, "attempts");
                }
        }

        public static async Task AnHttpsRecordLeadsToHttp3()
        {
            var url = new Uri(Setting.Server);
            using (var engine = new CommuteEngine(Setting.ForServer()))
            using (var client = new HttpClient(new CommuteHandler(engine)) { BaseAddress = url })
            {
                Expect.True(engine.ReportHttpsRecord(url, null), "asked");
                Expect.True(!engine.ReportHttpsRecord(url, new byte[0]), "there is no answer");
                Expect.True(!engine.ReportHttpsRecord(url, new byte[] { 1, 2, 3 }), "malformed");
                // A header, no question, and a record of the origin's name that has h3.
                var answer = new List<byte> { 0, 1, 0x80, 0, 0, 0, 0, 1, 0, 0, 0, 0 };
                foreach (var label in new[] { "_" + url.Port, "_https", "localhost", "" })
                {
                    answer.Add((byte)label.Length);
                    answer.AddRange(Encoding.ASCII.GetBytes(label));
                }
                answer.AddRange(new byte[] { 0, 65, 0, 1, 0, 0, 0, 60, 0, 10, 0, 1, 0, 0, 1, 0, 3, 2, 0x68, 0x33 });
                Expect.True(engine.ReportHttpsRecord(url, answer.ToArray()), "an offer");
                // TCP may win the race on a busy machine; QUIC goes on then. The case has a time limit.
                var protocol = "";
                while (protocol != "h3")
                    using (var response = await client.GetAsync("health"))
                        protocol = response.CommuteReport().Protocol;
            }
        }

        public static async Task AThousandAtOnce()
        {
            using (var client = Client(Setting.ForServer()))
            {
                var bodies = await Task.WhenAll(Enumerable.Range(0, 1000).Select(_ => client.GetByteArrayAsync("bytes/20000")));
                Expect.Equal(1000, bodies.Count(body => body.Length == 20000));
            }
        }

        public static async Task DisposedInMidRead()
        {
            using (var client = Client(Setting.ForServer()))
            {
                for (var round = 0; round < 20; round++)
                {
                    var response = await client.GetAsync("bytes/100000000", HttpCompletionOption.ResponseHeadersRead);
                    var body = await response.Content.ReadAsStreamAsync();
                    Expect.True(await body.ReadAsync(new byte[1000], 0, 1000) > 0, "some came");
                    response.Dispose();
                    await Expect.Throws<ObjectDisposedException>(() => body.ReadAsync(new byte[1000], 0, 1000));
                }
                Expect.Equal("ok\n", await client.GetStringAsync("health"));
            }
        }

        public static async Task DisposedWhileAReadWaits()
        {
            using (var client = Client(Setting.ForSite(), Setting.Site))
                for (var round = 0; round < 20; round++)
                {
                    var response = await client.GetAsync("endless", HttpCompletionOption.ResponseHeadersRead);
                    var body = await response.Content.ReadAsStreamAsync();
                    var buffer = new byte[1000];
                    var reading = Task.Run(async () =>
                    {
                        while (await body.ReadAsync(buffer, 0, buffer.Length) > 0)
                        {
                        }
                    });
                    await Task.Delay(round);
                    response.Dispose();
                    await Expect.Throws<ObjectDisposedException>(() => reading);
                }
        }

        public static async Task CancelledInMidRead()
        {
            using (var client = Client(Setting.ForSite(), Setting.Site))
            using (var cancel = new CancellationTokenSource())
            {
                var response = await client.GetAsync("endless", HttpCompletionOption.ResponseHeadersRead);
                var body = await response.Content.ReadAsStreamAsync();
                cancel.CancelAfter(50);
                await Expect.Throws<OperationCanceledException>(async () =>
                {
                    while (await body.ReadAsync(new byte[1000], 0, 1000, cancel.Token) > 0)
                    {
                    }
                });
            }
        }

        public static async Task ReadsByAllTheWaysOfStream()
        {
            using (var client = Client(Setting.ForServer()))
            using (var body = await client.GetStreamAsync("bytes/100000"))
            {
                var buffer = new byte[1000];
                var read = body.Read(buffer, 0, 1000);
                read += await Task.Factory.FromAsync(body.BeginRead, body.EndRead, buffer, 0, 1000, null);
                using (var rest = new MemoryStream())
                {
                    body.CopyTo(rest);
                    Expect.Equal(100000L, read + rest.Length);
                }
                Expect.Equal(0, body.Read(buffer, 0, 1000));
            }
        }

        public static async Task ErrorsTellMore()
        {
            using (var client = Client(Setting.ForSite()))
            {
                var error = await Expect.Throws<HttpRequestException>(() => client.GetAsync("health"));
                var inner = (CommuteException)error.InnerException;
                Expect.Equal(CommuteStatus.Certificate, inner.Status);
                Expect.True(!inner.MayHaveActed, "nothing was sent");
                error = await Expect.Throws<HttpRequestException>(() => client.GetAsync("http://localhost/"));
                Expect.True(error.Message.Contains("https only"), error.Message);
            }
        }

        public static async Task TheAppChecksChains()
        {
            foreach (var answer in new Func<bool>[] { () => true, () => false, () => { throw new Exception("undecided"); } })
            {
                var options = Setting.ForServer();
                options.RootsPem = null;
                string asked = null;
                options.CheckChain = (chain, host) =>
                {
                    asked = host + " " + chain.Length + " " + chain[0][0];
                    return answer();
                };
                var accepted = answer == (Func<bool>)null;
                try
                {
                    accepted = answer();
                }
                catch (Exception)
                {
                    accepted = false;
                }
                using (var client = Client(options))
                    if (accepted)
                        Expect.Equal("ok\n", await client.GetStringAsync("health"));
                    else
                        Expect.Equal(CommuteStatus.Certificate, ((CommuteException)(await Expect.Throws<HttpRequestException>(
                            () => client.GetAsync("health"))).InnerException).Status);
                Expect.Equal("localhost 2 48", asked);
            }
        }

        public static async Task EachPhaseHasItsTimeout()
        {
            var silent = new TcpListener(IPAddress.Loopback, 0);
            silent.Start();
            using (var engine = new CommuteEngine(Setting.ForSite()))
            {
                var shortly = TimeSpan.FromMilliseconds(200);
                var nowhere = "https://localhost:" + ((IPEndPoint)silent.LocalEndpoint).Port + "/";
                using (var client = new HttpClient(new CommuteHandler(engine) { ConnectTimeout = shortly }))
                    TimedOut(await Expect.Throws<HttpRequestException>(() => client.GetAsync(nowhere)), "no connection", false);
                using (var client = new HttpClient(new CommuteHandler(engine) { FirstByteTimeout = shortly }))
                    TimedOut(await Expect.Throws<HttpRequestException>(() => client.GetAsync(Setting.Site + "stall")), "no response", true);
                using (var client = new HttpClient(new CommuteHandler(engine) { IdleTimeout = shortly }))
                using (var body = await client.GetStreamAsync(Setting.Site + "pause"))
                    TimedOut(await Expect.Throws<IOException>(() => body.CopyToAsync(Stream.Null)), "no more of the response", true);
                var handler = new CommuteHandler(engine);
                foreach (var wrong in new[] { TimeSpan.Zero, TimeSpan.FromSeconds(-1), TimeSpan.MaxValue })
                    await Expect.Throws<ArgumentOutOfRangeException>(() => Task.Run(() => handler.ConnectTimeout = wrong));
                Expect.Equal(Timeout.InfiniteTimeSpan, handler.ConnectTimeout);
            }
            silent.Stop();
        }

        static void TimedOut(Exception error, string what, bool mayHaveActed)
        {
            var inner = (CommuteException)error.InnerException;
            Expect.Equal(CommuteStatus.Timeout, inner.Status);
            Expect.Equal(what + " within the time limit", inner.Message);
            Expect.Equal(mayHaveActed, inner.MayHaveActed, what);
        }

        public static Task TheAbiIsNamedAsAndroidDoes()
        {
            Expect.Equal("arm64-v8a", Native.AndroidAbi(Architecture.Arm64));
            Expect.Equal("armeabi-v7a", Native.AndroidAbi(Architecture.Arm));
            Expect.Equal("x86_64", Native.AndroidAbi(Architecture.X64));
            return Task.FromResult(true);
        }

        public static async Task TheAppChecksLaterConnectionsToo()
        {
            var options = Setting.ForSite();
            options.RootsPem = null;
            var accept = true;
            options.CheckChain = (chain, host) => Volatile.Read(ref accept);
            using (var engine = new CommuteEngine(options))
            using (var client = new HttpClient(new CommuteHandler(engine)) { BaseAddress = new Uri(Setting.Site) })
            {
                await client.GetStringAsync("echo");
                Volatile.Write(ref accept, false);
                // On the connection that was accepted.
                await client.GetStringAsync("echo");
                // Connections over TCP are not used on another network.
                engine.SetNetwork(new byte[] { 1 }, false);
                var refused = await Expect.Throws<HttpRequestException>(
                    () => client.PostAsync("echo", new StringContent("body")));
                Expect.Equal(CommuteStatus.Certificate, ((CommuteException)refused.InnerException).Status);
                Expect.True(!MayHaveActed(refused), "nothing was sent");
                Volatile.Write(ref accept, true);
                Expect.Equal("POST\nbody", await (await client.PostAsync("echo", new StringContent("body"))).Content.ReadAsStringAsync());
            }
        }

        public static async Task TheAppChecksSessionsThatAreResumed()
        {
            foreach (var policy in new[] { RoutePolicy.Tcp, RoutePolicy.Http3 })
            {
                var options = Setting.ForServer();
                options.RootsPem = null;
                options.Policy = policy;
                options.H3Hints.Add(Setting.Server);
                var accept = true;
                var asked = 0;
                options.CheckChain = (chain, host) =>
                {
                    Interlocked.Increment(ref asked);
                    return Volatile.Read(ref accept) && chain.Length > 0 && host == "localhost";
                };
                using (var engine = new CommuteEngine(options))
                using (var client = new HttpClient(new CommuteHandler(engine)) { BaseAddress = new Uri(Setting.Server) })
                {
                    foreach (var resumed in new[] { false, true })
                    {
                        using (var response = await client.GetAsync("health"))
                            Expect.Equal(resumed, response.CommuteReport().Resumed, policy + " resumed");
                        // The server's tickets come after the handshake.
                        await Task.Delay(100);
                        engine.Disconnect(false);
                    }
                    Expect.Equal(2, asked, policy + " checks");
                    Volatile.Write(ref accept, false);
                    var refused = await Expect.Throws<HttpRequestException>(() => client.GetAsync("health"));
                    Expect.Equal(CommuteStatus.Certificate, ((CommuteException)refused.InnerException).Status);
                    Expect.True(!MayHaveActed(refused), "nothing was sent");
                }
            }
        }

        public static async Task OptionsThatAreWrongSayWhy()
        {
            var error = await Expect.Throws<ArgumentException>(() =>
            {
                new CommuteEngine(new EngineOptions { RootsPem = new byte[] { 1 } });
                return Task.FromResult(true);
            });
            Expect.True(error.Message.Contains("no certificate"), error.Message);
        }

        internal static HttpClient Client(EngineOptions options, string origin = null) =>
            new HttpClient(new CommuteHandler(new CommuteEngine(options), true)) { BaseAddress = new Uri(origin ?? Setting.Server) };
    }
}
