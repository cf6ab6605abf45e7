// CPU time and time of warm GETs by HttpClient on Mono: with Mono's own handler and with CommuteHandler. Run by `run`.
//   benchmark.exe SERVER_URL SERVER_ROOTS_PEM

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Http;
using Commute.Client;

namespace CommuteBenchmark
{
    static class Program
    {
        const int Rounds = 7;

        static readonly Dictionary<string, HttpClient> Clients = new Dictionary<string, HttpClient>();

        static int Main(string[] args)
        {
            var server = new Uri(args[0]);
            var roots = File.ReadAllBytes(args[1]);
            var hinted = Options(roots);
            hinted.H3Hints.Add(args[0].TrimEnd('/'));
            using (var h2 = new CommuteEngine(Options(roots)))
            using (var auto = new CommuteEngine(hinted))
            {
                // The server's authority is its own. Warm requests make no handshake.
                var own = new HttpClientHandler();
                own.ServerCertificateCustomValidationCallback = (request, certificate, chain, errors) => true;
                Clients.Add("mono", new HttpClient(own));
                Clients.Add("commute h2", new HttpClient(new CommuteHandler(h2)));
                Clients.Add("commute auto", new HttpClient(new CommuteHandler(auto)));
                // Kilobytes, warm-up, requests of each round.
                Measure(server, 1, 1500, 1000);
                Measure(server, 1000, 50, 50);
            }
            Console.WriteLine("load of the machine: " + File.ReadAllText("/proc/loadavg").Trim());
            return 0;
        }

        static EngineOptions Options(byte[] roots)
        {
            var options = new EngineOptions { RootsPem = roots };
            options.Addresses.Add(new KeyValuePair<string, IPAddress>("localhost", IPAddress.Loopback));
            return options;
        }

        static void Measure(Uri server, int kilobytes, int warmUp, int requests)
        {
            var url = new Uri(server, "/bytes/" + kilobytes * 1000);
            var cpuUs = Clients.Keys.ToDictionary(name => name, name => new List<double>());
            var eachUs = Clients.Keys.ToDictionary(name => name, name => new List<double>());
            for (var round = 0; round < Rounds; round++)
                foreach (var client in Clients)
                {
                    for (var i = 0; round == 0 && i < warmUp; i++)
                        Get(client.Value, url, kilobytes * 1000);
                    var cpu = CpuUs();
                    var clock = Stopwatch.StartNew();
                    for (var i = 0; i < requests; i++)
                        Get(client.Value, url, kilobytes * 1000);
                    eachUs[client.Key].Add(clock.Elapsed.TotalMilliseconds * 1000 / requests);
                    cpuUs[client.Key].Add((CpuUs() - cpu) / requests);
                }
            var plain = Median(cpuUs["mono"]);
            foreach (var name in Clients.Keys)
                Console.WriteLine("{0,-12} GET of {1} kB: {2:F0} us CPU, {3:F2} of Mono's; {4:F0} us each", name, kilobytes,
                    Median(cpuUs[name]), Median(cpuUs[name]) / plain, Median(eachUs[name]));
        }

        static void Get(HttpClient client, Uri url, int length)
        {
            var body = client.GetByteArrayAsync(url).Result;
            if (body.Length != length)
                throw new IOException(body.Length + " bytes instead of " + length);
        }

        /// <summary>Returns the CPU time of this process, the engines' threads included.</summary>
        static double CpuUs() => Process.GetCurrentProcess().TotalProcessorTime.TotalMilliseconds * 1000;

        static double Median(List<double> values) => values.OrderBy(value => value).ElementAt(values.Count / 2);
    }
}
