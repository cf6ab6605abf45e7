using System;
using System.Collections.Generic;
using System.IO;
using System.Net;
using System.Net.Http;
using System.Text;
using System.Threading.Tasks;
using Commute.Client;

namespace CommuteTests
{
    /// <summary>
    /// Sends requests that standard input names, and prints what became of each, for a judge who knows what the server
    /// sent: crates/client/client-c/tests/generated. Fields are separated by a space, and bodies are in hexadecimal:
    ///   ID PROTOCOL METHOD URL READER UPLOAD BODY
    ///     PROTOCOL is http/1.1, h2 or h3. READER is app or client: who reads the response. UPLOAD is held or streamed.
    ///   ID STATUS BODY OUTCOME MAY_HAVE_ACTED TEXT
    ///     OUTCOME is a CommuteStatus, or the type of another exception.
    /// </summary>
    static class Answers
    {
        public static int Run(string rootsFile)
        {
            var roots = File.ReadAllBytes(rootsFile);
            var clients = new Dictionary<string, HttpClient>
            {
                { "http/1.1", Client(roots, RoutePolicy.Http11) },
                { "h2", Client(roots, RoutePolicy.Tcp) },
                { "h3", Client(roots, RoutePolicy.Http3) },
            };
            var running = new List<Task>();
            using (var requests = new StreamReader(Console.OpenStandardInput()))
                for (var line = requests.ReadLine(); line != null; line = requests.ReadLine())
                {
                    var fields = line.Split(' ');
                    running.Add(Task.Run(() => Answer(clients[fields[1]], fields)));
                }
            Task.WaitAll(running.ToArray());
            foreach (var client in clients.Values)
                client.Dispose();
            return 0;
        }

        static HttpClient Client(byte[] roots, RoutePolicy policy)
        {
            var options = new EngineOptions { RootsPem = roots, Policy = policy };
            options.Addresses.Add(new KeyValuePair<string, IPAddress>("localhost", IPAddress.Loopback));
            return new HttpClient(new CommuteHandler(new CommuteEngine(options), true));
        }

        static async Task Answer(HttpClient client, string[] fields)
        {
            var status = 0;
            var body = new MemoryStream();
            string end;
            try
            {
                using (var request = Request(fields[2], fields[3], fields[5], Bytes(fields[6])))
                using (var response = await client.SendAsync(request, fields[4] == "app"
                    ? HttpCompletionOption.ResponseHeadersRead : HttpCompletionOption.ResponseContentRead))
                {
                    status = (int)response.StatusCode;
                    await Read(await response.Content.ReadAsStreamAsync(), body);
                }
                end = "Ok 0 ";
            }
            catch (Exception error)
            {
                end = Describe(error);
            }
            Console.WriteLine(fields[0] + " " + status + " " + Hex(body.ToArray()) + " " + end);
        }

        static HttpRequestMessage Request(string method, string url, string upload, byte[] body)
        {
            var request = new HttpRequestMessage(new HttpMethod(method), url);
            if (method != "POST")
                return request;
            if (upload == "held")
                request.Content = new ByteArrayContent(body);
            else
                request.Content = new StreamContent(new Counting(new MemoryStream(body)));
            return request;
        }

        /// <summary>Copies a stream; what came before it failed is kept.</summary>
        static async Task Read(Stream from, Stream into)
        {
            var buffer = new byte[3000];
            for (var got = -1; got != 0; into.Write(buffer, 0, got))
                got = await from.ReadAsync(buffer, 0, buffer.Length);
        }

        static string Describe(Exception error)
        {
            var text = error.Message.Replace('\n', ' ');
            for (var inner = error; inner != null; inner = inner.InnerException)
            {
                var failure = inner as CommuteException;
                if (failure != null)
                    return failure.Status + " " + (failure.MayHaveActed ? 1 : 0) + " " + text;
            }
            return error.GetType().Name + " 1 " + text;
        }

        static string Hex(byte[] bytes)
        {
            var text = new StringBuilder(2 * bytes.Length);
            foreach (var b in bytes)
                text.Append(b.ToString("x2"));
            return text.ToString();
        }

        static byte[] Bytes(string hex)
        {
            var bytes = new byte[hex.Length / 2];
            for (var index = 0; index < bytes.Length; index++)
                bytes[index] = Convert.ToByte(hex.Substring(2 * index, 2), 16);
            return bytes;
        }
    }
}
