using System;
using System.Collections.Generic;
using System.IO;
using System.IO.Compression;
using System.Linq;
using System.Net;
using System.Net.Http;
using System.Threading.Tasks;
using Commute.Client;

namespace CommuteTests
{
    /// <summary>Content codings, whole and damaged. Mono's handler undoes fewer of them, and drops what is cut off.</summary>
    public static class Codings
    {
        const int TextBytes = 11000;

        public static Task CodingsOfAnyCaseAreUndone() => With(async client =>
        {
            foreach (var coded in new[]
            {
                "coding=GZIP&steps=gzip", "coding=x-gzip&steps=gzip", "coding=X-GZip&steps=gzip",
                "coding=gzip&steps=gzip-with-all-fields", "coding=gzip&steps=gzip,twice", "coding=identity",
                "coding=Deflate&steps=zlib", "coding=deflate&steps=raw", "coding=identity,gzip,Identity&steps=gzip",
                "coding=deflate,gzip&steps=zlib,gzip", "coding=GZIP|deflate&steps=gzip,raw", "coding=gzip,gzip&steps=gzip,gzip",
                "coding=gzip,gzip,gzip,gzip,gzip&steps=gzip,gzip,gzip,gzip,gzip",
            })
                using (var response = await client.GetAsync("coded?" + coded))
                {
                    var text = await response.Content.ReadAsStringAsync();
                    var times = coded.EndsWith("twice") ? 2 : 1;
                    Expect.Equal(times * TextBytes, text.Length, coded);
                    Expect.True(text.Replace("compressed ", "").Length == 0, coded);
                    var left = coded == "coding=identity" ? "identity" : "";
                    Expect.Equal(left, string.Join(",", response.Content.Headers.ContentEncoding), coded);
                }
        });

        public static Task UnknownCodingsAreLeft() => With(async client =>
        {
            foreach (var coded in new[]
            {
                "coding=br&steps=gzip:br", "coding=gzip,br&steps=gzip:gzip,br", "coding=br,gzip&steps=gzip,gzip:br",
                "coding=gzip%3Bq%3D1&steps=gzip:gzip;q=1",
            })
            {
                var parts = coded.Split(':');
                using (var response = await client.GetAsync("coded?" + parts[0]))
                {
                    IEnumerable<string> left;
                    response.Content.Headers.TryGetValues("content-encoding", out left);
                    Expect.Equal(parts[1], string.Join(",", left), coded);
                    var bytes = await response.Content.ReadAsByteArrayAsync();
                    Expect.Equal(0x1f, bytes[0], coded + ": gzip is left");
                }
            }
        });

        public static Task ResponsesWithoutContentKeepTheirFields() => With(async client =>
        {
            foreach (var coded in new[] { "HEAD coding=gzip&steps=gzip", "GET coding=gzip&status=204", "GET coding=deflate&status=304" })
            {
                var parts = coded.Split(' ');
                var request = new HttpRequestMessage(new HttpMethod(parts[0]), "coded?" + parts[1]);
                using (var response = await client.SendAsync(request))
                {
                    Expect.Equal(1, response.Content.Headers.ContentEncoding.Count, coded);
                    Expect.Equal(0, (await response.Content.ReadAsByteArrayAsync()).Length, coded);
                    if (parts[0] == "HEAD")
                        Expect.True(response.Content.Headers.ContentLength > 0, "the length of the encoded content");
                }
            }
            using (var response = await client.GetAsync("coded?coding=gzip&steps=empty"))
                Expect.Equal("", await response.Content.ReadAsStringAsync());
        });

        public static Task ContentThatIsCutOffFails() => With(async client =>
        {
            foreach (var step in new[] { "gzip", "gzip-with-all-fields", "zlib", "raw" })
            {
                var coding = "coding=" + (step.StartsWith("gzip") ? "gzip" : "deflate") + "&steps=" + step;
                int whole;
                using (var response = await client.SendAsync(new HttpRequestMessage(HttpMethod.Head, "coded?" + coding)))
                    whole = (int)response.Content.Headers.ContentLength;
                // Some at the end, some at the beginning; all lengths are tried by the case of the inflater.
                foreach (var cut in Enumerable.Range(1, 9).Concat(new[] { whole / 2, whole - 11, whole - 2, whole - 1 }))
                {
                    if (cut >= whole)
                        continue;
                    var failed = await Fails(client, coding + "&cut=" + cut);
                    Expect.True(failed.Message.Contains("cut off"), coding + " " + cut + ": " + failed.Message);
                }
            }
            // The second member is cut, too.
            await Fails(client, "coding=gzip&steps=gzip,twice&cut=1");
        });

        public static Task ContentThatIsDamagedFails() => With(async client =>
        {
            foreach (var coded in new[]
            {
                "coding=gzip&steps=gzip,flip", "coding=deflate&steps=zlib,flip", "coding=gzip&steps=gzip,junk",
                "coding=deflate&steps=zlib,junk", "coding=deflate&steps=raw,junk", "coding=gzip&steps=zlib", "coding=gzip",
                "coding=deflate&steps=gzip", "coding=deflate&steps=zlib,twice",
            })
            {
                var failed = await Fails(client, coded);
                var inner = (CommuteException)failed.InnerException;
                Expect.Equal(CommuteStatus.Protocol, inner.Status, coded);
                // So does what HttpClient reads by itself.
                var error = await Expect.Throws<Exception>(() => client.GetStringAsync("coded?" + coded));
                Expect.True(error is IOException || error is HttpRequestException, coded + ": " + error);
            }
            var many = await Expect.Throws<HttpRequestException>(
                () => client.GetAsync("coded?coding=" + string.Join(",", Enumerable.Repeat("gzip", 6)) + "&steps=gzip"));
            Expect.True(many.Message.Contains("content codings"), many.Message);
        });

        /// <summary>Against the platform's compressor.</summary>
        public static Task WhatIsDeflatedIsInflated()
        {
            var random = new Random(5);
            foreach (var size in new[] { 0, 1, 100, 5000, 70000, 400000 })
                foreach (var letters in new[] { 1, 3, 20, 256 })
                    foreach (var level in new[] { CompressionLevel.NoCompression, CompressionLevel.Fastest, CompressionLevel.Optimal })
                    {
                        var data = new byte[size];
                        for (var index = 0; index < size; index++)
                            data[index] = (byte)random.Next(letters);
                        var deflated = Deflated(data, level);
                        var what = size + " bytes of " + letters + " letters, " + level;
                        Expect.True(Inflated(deflated, 1 + random.Next(5000)).SequenceEqual(data), what);
                    }
            return Task.FromResult(true);
        }

        public static Task DeflateThatIsCutOrDamagedEndsOrFails()
        {
            var random = new Random(6);
            var data = new byte[3000];
            for (var index = 0; index < data.Length; index++)
                data[index] = (byte)random.Next(1 + index / 100);
            var deflated = Deflated(data, CompressionLevel.Optimal);
            for (var length = 1; length < deflated.Length; length++)
                Expect.True(Inflated(deflated.Take(length).ToArray(), 100) == null, "complete at " + length);
            for (var round = 0; round < 5000; round++)
            {
                var damaged = (byte[])deflated.Clone();
                for (var flips = random.Next(1, 4); flips > 0; flips--)
                    damaged[random.Next(Math.Min(damaged.Length, 1 + round))] ^= (byte)(1 << random.Next(8));
                Inflated(damaged, 1000);
                random.NextBytes(damaged);
                Inflated(damaged, 1000);
            }
            return Task.FromResult(true);
        }

        static byte[] Deflated(byte[] data, CompressionLevel level)
        {
            var into = new MemoryStream();
            using (var stream = new DeflateStream(into, level))
                stream.Write(data, 0, data.Length);
            // Mono writes nothing for nothing.
            return data.Length == 0 ? new byte[] { 3, 0 } : into.ToArray();
        }

        /// <summary>Returns what is inflated piece by piece; null if it fails.</summary>
        static byte[] Inflated(byte[] deflated, int piece)
        {
            var into = new MemoryStream();
            // Two bytes tell deflate from zlib's format, so the stream would take some damage for that.
            var inflater = new Inflater();
            var buffer = new byte[piece];
            var next = 0;
            try
            {
                while (!inflater.IsDone)
                {
                    var got = inflater.Read(buffer, 0, buffer.Length);
                    into.Write(buffer, 0, got);
                    if (got > 0 || inflater.IsDone)
                        continue;
                    if (next == deflated.Length)
                        return null;
                    var more = deflated.Skip(next).Take(piece).ToArray();
                    next += more.Length;
                    inflater.Feed(more, more.Length);
                }
            }
            catch (InvalidDataException)
            {
                return null;
            }
            return into.ToArray();
        }

        static async Task<IOException> Fails(HttpClient client, string coded)
        {
            using (var response = await client.GetAsync("coded?" + coded, HttpCompletionOption.ResponseHeadersRead))
            using (var content = await response.Content.ReadAsStreamAsync())
            {
                var failed = await Expect.Throws<IOException>(() => content.CopyToAsync(Stream.Null));
                var again = await Expect.Throws<IOException>(() => content.ReadAsync(new byte[1], 0, 1));
                Expect.Equal(failed.Message, again.Message, coded);
                return failed;
            }
        }

        static async Task With(Func<HttpClient, Task> run)
        {
            using (var handler = new CommuteHandler(new CommuteEngine(Setting.ForSite()), true))
            {
                handler.AutomaticDecompression = DecompressionMethods.GZip | DecompressionMethods.Deflate;
                using (var client = new HttpClient(handler) { BaseAddress = new Uri(Setting.Site) })
                    await run(client);
            }
        }
    }
}
