using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Http;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Commute.Client
{
    /// <summary>One request and its response, without redirects.</summary>
    sealed class Exchange
    {
        /// <summary>Bodies up to this size are held in memory, so that the engine can send them again.</summary>
        const int WholeBytes = 64 << 10;

        Task upload = Task.FromResult(true);

        /// <summary>Sends a request; returns its response when the head is there.</summary>
        public async Task<HttpResponseMessage> SendAsync(
            CommuteHandler handler, HttpRequestMessage request, List<KeyValuePair<string, string>> extra, CancellationToken token)
        {
            Call call = null;
            var cancellation = default(CancellationTokenRegistration);
            try
            {
                // Asking for the length makes the content compute it, and add it to its fields.
                var length = request.Content?.Headers.ContentLength;
                byte[] whole = null;
                if (length <= WholeBytes)
                    whole = await request.Content.ReadAsByteArrayAsync().ConfigureAwait(false);
                call = Submit(handler, request, extra, whole, length ?? -1);
                cancellation = token.Register(call.Cancel);
                if (request.Content != null && whole == null)
                    upload = Upload(request.Content, call);
                var status = await call.Head.ConfigureAwait(false);
                return Response(request, call, status, cancellation);
            }
            catch (Exception error)
            {
                cancellation.Dispose();
                if (call != null)
                    request.Properties[RouteReport.Property] = call.Report();
                call?.Release();
                if (token.IsCancellationRequested)
                    throw new TaskCanceledException("the request was cancelled", error);
                throw new HttpRequestException(
                    error is CommuteException ? error.Message : "the body of the request failed: " + error.Message, error);
            }
        }

        /// <summary>Waits until nothing reads the request's content any more, or until the request is cancelled.</summary>
        public async Task UploadedAsync(CancellationToken token)
        {
            var cancelled = new TaskCompletionSource<bool>();
            using (token.Register(() => cancelled.TrySetResult(true)))
                await Task.WhenAny(upload, cancelled.Task).ConfigureAwait(false);
        }

        static Call Submit(
            CommuteHandler handler, HttpRequestMessage request, List<KeyValuePair<string, string>> extra, byte[] whole, long length)
        {
            var hints = RequestHints.Of(request);
            using (var memory = new Memory())
            {
                var fields = OneCookie(Fields(request).Concat(extra)).Select(field => new NativeField
                {
                    Name = memory.Text(field.Key), Value = memory.Text(field.Value),
                }).ToList();
                var native = new NativeRequest
                {
                    Method = memory.Text(request.Method.Method),
                    // The fragment is not sent (RFC 9110 section 7.1).
                    Url = memory.Text(request.RequestUri.GetComponents(
                        UriComponents.HttpRequestUrl & ~UriComponents.UserInfo, UriFormat.UriEscaped)),
                    Headers = memory.Array(fields), HeaderCount = (UIntPtr)fields.Count,
                    Body = memory.Bytes(whole),
                    StreamedBytes = length,
                    Label = memory.Text(hints.Label),
                    Flags = hints.Flags | (request.Content != null && whole == null ? Native.Streamed : 0),
                    ConnectMs = Milliseconds(handler.ConnectTimeout),
                    FirstByteMs = Milliseconds(handler.FirstByteTimeout),
                    IdleMs = Milliseconds(handler.IdleTimeout),
                };
                return handler.Engine.Submit(native);
            }
        }

        /// <summary>Returns a limit as the engine takes it; 0: none.</summary>
        static uint Milliseconds(TimeSpan limit) =>
            limit == Timeout.InfiniteTimeSpan ? 0 : (uint)Math.Ceiling(limit.TotalMilliseconds);

        static IEnumerable<KeyValuePair<string, string>> Fields(HttpRequestMessage request)
        {
            foreach (var field in request.Headers)
                // These are about a connection of HTTP/1.1 (RFC 9110 section 7.6.1); the engine has its own.
                if (!IsOfConnection(field.Key))
                    yield return new KeyValuePair<string, string>(
                        field.Key, string.Join(Separator(field.Key), field.Value));
            if (request.Content == null)
                yield break;
            foreach (var field in request.Content.Headers)
                if (field.Key.ToLowerInvariant() != "content-length")
                    yield return new KeyValuePair<string, string>(field.Key, string.Join(", ", field.Value));
        }

        /// <summary>Joins the app's cookies and the jar's in one field (RFC 6265 section 5.4).</summary>
        static IEnumerable<KeyValuePair<string, string>> OneCookie(IEnumerable<KeyValuePair<string, string>> fields)
        {
            var cookies = fields.ToLookup(field => field.Key.ToLowerInvariant() == "cookie");
            if (cookies[true].Count() < 2)
                return fields;
            var all = string.Join(Separator("cookie"), cookies[true].Select(field => field.Value));
            return cookies[false].Concat(new[] { new KeyValuePair<string, string>("cookie", all) });
        }

        static string Separator(string name)
        {
            switch (name.ToLowerInvariant())
            {
                case "cookie": return "; ";
                case "user-agent": case "server": return " ";
                default: return ", ";
            }
        }

        static bool IsOfConnection(string name)
        {
            switch (name.ToLowerInvariant())
            {
                case "connection": case "keep-alive": case "proxy-connection": case "transfer-encoding":
                case "upgrade": case "expect":
                    return true;
                default:
                    return false;
            }
        }

        /// <summary>Writes the body. If that fails, so does the call.</summary>
        static Task Upload(HttpContent content, Call call) => Task.Run(async () =>
        {
            try
            {
                await content.CopyToAsync(new UploadStream(call)).ConfigureAwait(false);
                call.Finish();
            }
            catch (Exception error)
            {
                call.Abort(error);
            }
        });

        static HttpResponseMessage Response(
            HttpRequestMessage request, Call call, int status, CancellationTokenRegistration cancellation)
        {
            var report = call.Report();
            request.Properties[RouteReport.Property] = report;
            var response = new HttpResponseMessage((HttpStatusCode)status)
            {
                RequestMessage = request,
                Version = report.Protocol == "http/1.1" ? HttpVersion.Version11 : new Version(report.Protocol == "h3" ? "3.0" : "2.0"),
                Content = new StreamContent(new ResponseStream(call, cancellation)),
            };
            foreach (var field in call.Fields(Native.Headers))
            {
                var value = field.Key == "location" ? Utf8(field.Value) : field.Value;
                if (!response.Headers.TryAddWithoutValidation(field.Key, value))
                    response.Content.Headers.TryAddWithoutValidation(field.Key, value);
            }
            return response;
        }

        /// <summary>
        /// Returns the text of bytes that were read as ISO 8859-1 but are UTF-8, as those of a URL are where a server
        /// does not escape them; else the value itself.
        /// </summary>
        static string Utf8(string value)
        {
            try
            {
                var strict = new UTF8Encoding(false, true);
                return strict.GetString(Encoding.GetEncoding("iso-8859-1").GetBytes(value));
            }
            catch (DecoderFallbackException)
            {
                return value;
            }
        }
    }
}
