using System;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Threading;
using System.Threading.Tasks;
using Commute.Client;

namespace CommuteTests
{
    /// <summary>How engines end.</summary>
    public static class Lives
    {
        public static async Task AnEngineClosedInMidCallFailsIt()
        {
            for (var round = 0; round < 20; round++)
            {
                var engine = new CommuteEngine(Setting.ForSite());
                var client = new HttpClient(new CommuteHandler(engine)) { BaseAddress = new Uri(Setting.Site) };
                var stalled = client.GetAsync("stall");
                var endless = await client.GetStreamAsync("endless");
                await Task.Delay(round);
                engine.Dispose();
                var error = await Expect.Throws<HttpRequestException>(() => stalled);
                Expect.Equal(CommuteStatus.Closed, ((CommuteException)error.InnerException).Status);
                await Expect.Throws<IOException>(() => endless.CopyToAsync(Stream.Null));
                await Expect.Throws<HttpRequestException>(() => client.GetAsync("echo"));
                engine.Dispose();
            }
        }

        public static async Task WhatIsLearntIsSaved()
        {
            var folder = Path.Combine(Path.GetTempPath(), Path.GetRandomFileName());
            var options = Setting.ForServer();
            options.MemoryFolder = folder;
            using (var engine = new CommuteEngine(options))
            using (var client = new HttpClient(new CommuteHandler(engine)) { BaseAddress = new Uri(Setting.Server) })
            {
                await client.GetStringAsync("health");
                var file = Path.Combine(folder, "route.v1");
                // By itself it is written once, and not again for a while.
                while (!File.Exists(file))
                    await Task.Delay(1);
                foreach (var save in new Action[] { engine.Save, CommuteEngine.SaveAll })
                {
                    File.Delete(file);
                    save();
                    Expect.True(File.Exists(file), "it was not saved");
                }
            }
            Directory.Delete(folder, true);
        }

        public static async Task RequestsAreInTheMetrics()
        {
            var engine = new CommuteEngine(Setting.ForServer());
            var client = new HttpClient(new CommuteHandler(engine)) { BaseAddress = new Uri(Setting.Server) };
            engine.SetNetwork(new byte[] { 1 }, true, NetworkKind.Cellular);
            for (var call = 0; call < 20; call++)
                await client.GetStringAsync("health");
            // More than fits into the first buffer.
            var lines = engine.MetricsCsv(MetricsArms.Rollout).Split('\n');
            Expect.True(lines[0].StartsWith("network,arm,") && lines.Length > 20, lines.Length + " lines: " + lines[0]);
            Expect.True(lines[1].StartsWith("cellular,"), lines[1]);
            engine.Dispose();
            await Expect.Throws<CommuteException>(() => Task.Run(() => engine.MetricsCsv(MetricsArms.Rollout)));
        }

        public static async Task AnEngineThatOthersDoWithoutTurnsItselfOff()
        {
            using (var engine = new CommuteEngine(Setting.ForServer()))
            using (var client = new HttpClient(new CommuteHandler(engine)) { BaseAddress = new Uri(Setting.Server) })
            {
                for (var call = 0; call < 50; call++)
                    await client.GetStringAsync("health");
                engine.WorkedWithout();
                await client.GetStringAsync("health");
                engine.WorkedWithout();
                var off = await Expect.Throws<HttpRequestException>(() => client.GetStringAsync("health"));
                Expect.Equal(CommuteStatus.Plain, ((CommuteException)off.InnerException).Status);
            }
        }

        public static Task DomainsAreUnloaded()
        {
            var before = Threads();
            for (var round = 0; round < 10; round++)
            {
                var domain = AppDomain.CreateDomain("reload " + round, null, AppDomain.CurrentDomain.SetupInformation);
                var inside = (Inside)domain.CreateInstanceAndUnwrap(typeof(Inside).Assembly.FullName, typeof(Inside).FullName);
                Expect.Equal("ok\n", inside.Run(Setting.Arguments));
                inside = null;
                // With an engine open, one response half read, and one request without a response.
                AppDomain.Unload(domain);
            }
            // Pools keep some threads; each engine left open would have two more.
            Expect.True(Threads() < before + 10, "there were " + before + " threads, and are " + Threads());
            return Task.FromResult(true);
        }

        public static async Task WhatIsForgottenIsReleased()
        {
            using (var client = Calls.Client(Setting.ForServer()))
            {
                // Far more than are kept at a time, none disposed.
                for (var round = 0; round < 40; round++)
                {
                    await Task.WhenAll(Enumerable.Range(0, 20).Select(_ => Drop(client)));
                    GC.Collect();
                    GC.WaitForPendingFinalizers();
                }
                Expect.Equal("ok\n", await client.GetStringAsync("health"));
            }
        }

        /// <summary>In a domain of its own, where no other case has used Mhttp.</summary>
        public static Task MhttpOutlivesItsEngine()
        {
            var domain = AppDomain.CreateDomain("Mhttp", null, AppDomain.CurrentDomain.SetupInformation);
            var inside = (Inside)domain.CreateInstanceAndUnwrap(typeof(Inside).Assembly.FullName, typeof(Inside).FullName);
            try
            {
                // The default does not trust the server.
                var untrusted = inside.ErrorOfMhttp(Setting.Server);
                Expect.True(untrusted.Contains("certificate"), untrusted);
                Expect.Equal(untrusted, inside.ErrorOfMhttp(Setting.Server));
                // An engine of the app's own is not replaced by one that may trust others.
                inside.UseInMhttp(Setting.Arguments);
                Expect.Equal(null, inside.ErrorOfMhttp(Setting.Server));
                var closed = inside.ErrorOfMhttp(Setting.Server);
                Expect.True(closed.Contains("closed"), closed);
            }
            finally
            {
                AppDomain.Unload(domain);
            }
            return Task.FromResult(true);
        }

        static Task Drop(HttpClient client) =>
            client.GetAsync("bytes/1000000", HttpCompletionOption.ResponseHeadersRead).ContinueWith(_ => { });

        static int Threads() => Directory.GetDirectories("/proc/self/task").Length;
    }

    /// <summary>What runs in a domain that is unloaded.</summary>
    public sealed class Inside : MarshalByRefObject
    {
        public string Run(string[] setting)
        {
            Setting.Read(setting);
            var client = Calls.Client(Setting.ForServer());
            var health = client.GetStringAsync("health").Result;
            var half = client.GetStreamAsync("bytes/100000000").Result;
            half.Read(new byte[10], 0, 10);
            Calls.Client(Setting.ForSite(), Setting.Site).GetAsync("stall");
            return health;
        }

        public void UseInMhttp(string[] setting)
        {
            Setting.Read(setting);
            Mhttp.Client.Use(new CommuteHandler(new CommuteEngine(Setting.ForServer())));
        }

        /// <summary>Sends a request by Mhttp, then closes all engines as the end of a play session does.</summary>
        public string ErrorOfMhttp(string url)
        {
            var response = Mhttp.Client.Send(new Mhttp.Request(url + "health"));
            while (!response.isDone)
                Thread.Sleep(1);
            CommuteEngine.CloseAll();
            return response.error;
        }
    }
}
