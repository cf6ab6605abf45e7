using System.Collections.Generic;
using System.IO;
using System.IO.Compression;
using System.Linq;
using System.Net;
using System.Net.Http;

namespace Commute.Client
{
    /// <summary>Content encodings.</summary>
    static class Decompression
    {
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

        /// <summary>Undoes the last encoding of a response's content if it is one of these.</summary>
        public static HttpResponseMessage Undo(HttpResponseMessage response, DecompressionMethods methods)
        {
            var last = response.Content.Headers.ContentEncoding.LastOrDefault();
            var gzip = last == "gzip" && (methods & DecompressionMethods.GZip) != 0;
            var deflate = last == "deflate" && (methods & DecompressionMethods.Deflate) != 0;
            if (!gzip && !deflate)
                return response;
            var encoded = response.Content;
            // The body is not read here, so this does not wait.
            var stream = encoded.ReadAsStreamAsync().GetAwaiter().GetResult();
            var content = new StreamContent(gzip
                ? (Stream)new GZipStream(stream, CompressionMode.Decompress)
                : new DeflateStream(stream, CompressionMode.Decompress));
            foreach (var field in encoded.Headers)
                content.Headers.TryAddWithoutValidation(field.Key, field.Value);
            // The length is that of the encoded bytes.
            content.Headers.ContentLength = null;
            content.Headers.ContentEncoding.Clear();
            foreach (var rest in encoded.Headers.ContentEncoding.Take(encoded.Headers.ContentEncoding.Count - 1))
                content.Headers.ContentEncoding.Add(rest);
            response.Content = content;
            return response;
        }
    }
}
