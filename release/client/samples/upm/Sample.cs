// Fetches a URL by HttpClient over the engine, and says how it came: Sample.exe URL ROOTS.pem

using System;
using System.IO;
using System.Net.Http;
using Commute.Client;

static class Sample
{
    static void Main(string[] arguments)
    {
        var options = new EngineOptions { RootsPem = File.ReadAllBytes(arguments[1]) };
        using (var engine = new CommuteEngine(options))
        using (var client = new HttpClient(new CommuteHandler(engine)))
        using (var response = client.GetAsync(arguments[0]).Result)
        {
            var body = response.Content.ReadAsStringAsync().Result.Trim();
            Console.WriteLine((int)response.StatusCode + ", " + response.CommuteReport().Protocol + ": " + body);
        }
    }
}
