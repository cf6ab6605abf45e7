using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Http;

namespace Commute.Client
{
    /// <summary>Content codings (RFC 9110 section 8.4.1).</summary>
    static class Decompression
    {
        /// <summary>Each needs memory, and servers have no use for more than two.</summary>
        const int MaxCodings = 5;

        /// <summary>Returns the value of <c>accept-encoding</c>; empty for none.</summary>
        public static string Names(DecompressionMethods methods)
        {
            var names = new List<string>();
            if ((methods & DecompressionMethods.GZip) != 0)
                names.Add("gzip");
            if ((methods & DecompressionMethods.Deflate) != 0)
                names.Add("deflate");
            return string.Join(", ", names);
        }

        /// <summary>
        /// Undoes the codings of a response's content, the last one first, as far as they are among these methods.
        /// </summary>
        /// <exception cref="HttpRequestException">There are too many.</exception>
        public static HttpResponseMessage Undo(HttpResponseMessage response, DecompressionMethods methods)
        {
            var codings = response.Content.Headers.ContentEncoding.ToList();
            if (!HasContent(response) || !IsUndone(Last(codings), methods))
                return response;
            var encoded = response.Content;
            // The body is not read here, so this does not wait.
            var stream = encoded.ReadAsStreamAsync().GetAwaiter().GetResult();
            for (var undone = 0; IsUndone(Last(codings), methods); undone++)
            {
                if (undone == MaxCodings)
                    throw TooMany(response);
                stream = new DecodedStream(stream, IsGzip(Last(codings)));
                codings.RemoveAt(codings.Count - 1);
            }
            var content = new StreamContent(stream);
            foreach (var field in encoded.Headers)
                content.Headers.TryAddWithoutValidation(field.Key, field.Value);
            // The length is that of the encoded bytes.
            content.Headers.ContentLength = null;
            content.Headers.ContentEncoding.Clear();
            foreach (var rest in codings)
                content.Headers.ContentEncoding.Add(rest);
            response.Content = content;
            return response;
        }

        /// <summary>Reports whether a response has content (RFC 9110 section 6.4.1).</summary>
        static bool HasContent(HttpResponseMessage response) =>
            response.RequestMessage.Method != HttpMethod.Head && response.StatusCode != HttpStatusCode.NoContent
            && response.StatusCode != HttpStatusCode.NotModified;

        /// <summary>Returns the coding that was applied last; empty if there is none. Those that do nothing are removed.</summary>
        static string Last(List<string> codings)
        {
            while (codings.Count > 0 && Is(codings[codings.Count - 1], "identity"))
                codings.RemoveAt(codings.Count - 1);
            return codings.LastOrDefault() ?? "";
        }

        static bool IsUndone(string coding, DecompressionMethods methods) =>
            IsGzip(coding) && (methods & DecompressionMethods.GZip) != 0
            || IsDeflate(coding) && (methods & DecompressionMethods.Deflate) != 0;

        static bool IsGzip(string coding) => Is(coding, "gzip") || Is(coding, "x-gzip");

        static bool IsDeflate(string coding) => Is(coding, "deflate");

        static bool Is(string coding, string name) => string.Equals(coding, name, StringComparison.OrdinalIgnoreCase);

        static HttpRequestException TooMany(HttpResponseMessage response)
        {
            response.Dispose();
            var why = "the response has more than " + MaxCodings + " content codings";
            return new HttpRequestException(why, new CommuteException(CommuteStatus.Protocol, true, why));
        }
    }
}
