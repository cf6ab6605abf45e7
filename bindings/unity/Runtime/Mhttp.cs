using System;
using System.Collections;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Threading;
using System.Threading.Tasks;
using Commute.Client;

// Requests for coroutines: `yield return Client.Send(new Request(url))`. Nothing needs to be called per frame.
namespace Mhttp
{
    /// <summary>How a request is treated.</summary>
    public sealed class Options
    {
        /// <summary>
        /// File for the body of a response with status 200; null: it is kept in memory. The file appears when
        /// it is complete; folders above it are made. Of several requests for one file the last one to end counts.
        /// </summary>
        public string filepath;
        /// <summary>Whether the callback runs on the thread pool instead of the thread that sent the request.</summary>
        public bool callbackOnThreadPool;
        /// <summary>Time until the response is complete; 0: no limit.</summary>
        public int timeoutMs = 100000;
    }

    /// <summary>A request.</summary>
    public sealed class Request
    {
        public readonly string url;
        public readonly byte[] body;
        public readonly string method;
        public readonly Dictionary<string, string> headers;
        public readonly Action<Response> callback;
        public readonly Options options;

        /// <param name="url">An https URL.</param>
        /// <param name="body">The body, or null.</param>
        /// <param name="method">Any method; null: POST with a body, else GET.</param>
        /// <param name="headers">Header fields, or null.</param>
        /// <param name="callback">Called once, however the request ends; or null.</param>
        /// <param name="options">Or null for the defaults.</param>
        public Request(string url, byte[] body = null, string method = null, Dictionary<string, string> headers = null,
            Action<Response> callback = null, Options options = null)
        {
            if (url == null)
                throw new ArgumentNullException("url");
            this.url = url;
            this.body = body;
            this.method = method ?? (body != null ? "POST" : "GET");
            this.headers = headers;
            this.callback = callback;
            this.options = options ?? new Options();
        }
    }

    /// <summary>A response, complete once <c>isDone</c>. A coroutine that yields it goes on then.</summary>
    public sealed class Response : IEnumerator
    {
        readonly CancellationTokenSource cancellation = new CancellationTokenSource();
        readonly Dictionary<string, string> fields = new Dictionary<string, string>(StringComparer.OrdinalIgnoreCase);
        volatile bool done;

        internal Response(Request request)
        {
            this.request = request;
        }

        /// <summary>What was asked.</summary>
        public Request request { get; }
        /// <summary>Whether the request has ended, in whatever way.</summary>
        public bool isDone => done;
        /// <summary>The status; 0 without a response.</summary>
        public int code { get; private set; }
        /// <summary>Why there is no complete response; null if there is one, whatever its status.</summary>
        public string error { get; private set; }
        /// <summary>The body; null if it went to a file, or there is none.</summary>
        public byte[] data { get; private set; }
        /// <summary>How the response came; null without one.</summary>
        public RouteReport report { get; private set; }

        /// <summary>Returns a header field, whatever its case; null if it is not there.</summary>
        public string header(string key)
        {
            string value;
            return done && fields.TryGetValue(key, out value) ? value : null;
        }

        /// <summary>Cancels the request. It then ends with an error, unless it had ended.</summary>
        public void Abort() => cancellation.Cancel();

        object IEnumerator.Current => null;

        bool IEnumerator.MoveNext() => !done;

        void IEnumerator.Reset() => throw new NotSupportedException();

        internal async Task RunAsync(HttpClient client)
        {
            try
            {
                if (request.options.timeoutMs > 0)
                    cancellation.CancelAfter(request.options.timeoutMs);
                await PerformAsync(client).ConfigureAwait(false);
            }
            catch (Exception failure)
            {
                data = null;
                error = failure is OperationCanceledException ? "aborted, or not complete in time" : failure.Message;
            }
            done = true;
        }

        async Task PerformAsync(HttpClient client)
        {
            using (var message = Message())
            using (var response = await client.SendAsync(message, HttpCompletionOption.ResponseHeadersRead, cancellation.Token).ConfigureAwait(false))
            {
                code = (int)response.StatusCode;
                report = response.CommuteReport();
                foreach (var field in response.Headers.Concat(response.Content.Headers))
                    fields[field.Key] = string.Join(", ", field.Value);
                var body = await response.Content.ReadAsStreamAsync().ConfigureAwait(false);
                if (request.options.filepath != null && code == 200)
                    await SaveAsync(body, request.options.filepath).ConfigureAwait(false);
                else
                    using (var memory = new MemoryStream())
                    {
                        await body.CopyToAsync(memory, 65536, cancellation.Token).ConfigureAwait(false);
                        data = memory.ToArray();
                    }
            }
        }

        HttpRequestMessage Message()
        {
            var message = new HttpRequestMessage(new HttpMethod(request.method), request.url);
            if (request.body != null)
                message.Content = new ByteArrayContent(request.body);
            foreach (var field in request.headers ?? new Dictionary<string, string>())
                if (!message.Headers.TryAddWithoutValidation(field.Key, field.Value)
                    && message.Content?.Headers.TryAddWithoutValidation(field.Key, field.Value) != true)
                    throw new ArgumentException("not a header field of this request: " + field.Key);
            return message;
        }

        /// <summary>Writes beside the file, which is replaced at the end: nobody sees half of it.</summary>
        async Task SaveAsync(Stream body, string path)
        {
            Directory.CreateDirectory(Path.GetDirectoryName(Path.GetFullPath(path)));
            using (var part = new Part(path))
            {
                using (var file = part.Create())
                {
                    await body.CopyToAsync(file, 65536, cancellation.Token).ConfigureAwait(false);
                    file.Flush(true);
                }
                part.Replace(path);
            }
        }
    }

    /// <summary>
    /// What a file is written to before it is complete, one for each request. Names are used again, so that
    /// apps which are killed do not leave more and more of them.
    /// </summary>
    sealed class Part : IDisposable
    {
        static readonly HashSet<string> Taken = new HashSet<string>();
        static readonly object Replacing = new object();
        readonly string name;
        bool created;

        public Part(string path)
        {
            lock (Taken)
                for (var number = 0; name == null; number++)
                {
                    var next = Path.GetFullPath(path) + (number == 0 ? ".part" : "." + number + ".part");
                    if (Taken.Add(next))
                        name = next;
                }
        }

        public FileStream Create()
        {
            var file = new FileStream(name, FileMode.Create, FileAccess.Write, FileShare.None, 65536);
            created = true;
            return file;
        }

        public void Replace(string path)
        {
            // The file may appear between the question and the move.
            lock (Replacing)
                if (File.Exists(path))
                    File.Replace(name, path, null);
                else
                    File.Move(name, path);
            created = false;
        }

        public void Dispose()
        {
            // What another process has open is not ours.
            if (created)
                File.Delete(name);
            lock (Taken)
                Taken.Remove(name);
        }
    }

    /// <summary>Sends requests over one engine for the whole app.</summary>
    public static class Client
    {
        static readonly object Gate = new object();
        static HttpClient client;
        /// <summary>The default handler; null if another one is used.</summary>
        static CommuteHandler own;

        /// <summary>
        /// Uses this handler from now on, e.g. one with hints; the default has an engine of its own. Once this handler's
        /// engine is closed, requests fail until another handler is set.
        /// </summary>
        public static void Use(HttpMessageHandler handler)
        {
            lock (Gate)
            {
                client = New(handler);
                own = null;
            }
        }

        /// <summary>
        /// Sends a request and returns at once. The callback comes on this thread if it has a
        /// SynchronizationContext, as Unity's main thread has, else on the thread pool. There, what it throws is
        /// logged.
        /// </summary>
        public static Response Send(Request request)
        {
            HttpClient current;
            lock (Gate)
            {
                // In Unity's editor statics may outlive a play session, whose end closes all engines.
                if (client == null || own != null && own.Engine.IsClosed)
                    client = New(own = new CommuteHandler());
                current = client;
            }
            var response = new Response(request);
            var context = request.options.callbackOnThreadPool ? null : SynchronizationContext.Current;
            // Its outcome is in the response.
            Task.Run(() => response.RunAsync(current)).ContinueWith(_ =>
            {
                if (request.callback == null)
                    return;
                if (context != null)
                    context.Post(state => request.callback(response), null);
                else
                    ThreadPool.QueueUserWorkItem(state => Call(request, response));
            }, TaskScheduler.Default);
            return response;
        }

        /// <summary>Calls back where nobody would catch what is thrown, which would end the process.</summary>
        static void Call(Request request, Response response)
        {
            try
            {
                request.callback(response);
            }
            catch (Exception thrown)
            {
#if UNITY_2019_4_OR_NEWER
                UnityEngine.Debug.LogException(thrown);
#else
                Console.Error.WriteLine("A callback of Mhttp threw " + thrown);
#endif
            }
        }

        static HttpClient New(HttpMessageHandler handler) =>
            // Each request has its own limit.
            new HttpClient(handler) { Timeout = Timeout.InfiniteTimeSpan };
    }
}
