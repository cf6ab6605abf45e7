using System;
using System.Collections.Generic;
using System.Net;
using System.Net.Http;
using System.Threading.Tasks;
using Commute.Client;

namespace CommuteTests
{
    /// <summary>What another origin sees of a request that is redirected there.</summary>
    public static class Origins
    {
        public static Task CredentialsStayWithTheirOrigin() => With(async client =>
        {
            foreach (var other in new[] { false, true })
            {
                var request = new HttpRequestMessage(HttpMethod.Get, "to/302?location=" + Target(other, "fields"));
                request.Headers.Add("authorization", "Bearer secret");
                request.Headers.Add("proxy-authorization", "Basic secret");
                request.Headers.Add("cookie", "mine=secret");
                request.Headers.Add("x-api-key", "told");
                using (var response = await client.SendAsync(request))
                {
                    var fields = await response.Content.ReadAsStringAsync();
                    Expect.True(!fields.Contains("authorization: Bearer"), fields);
                    Expect.Equal(!other, fields.Contains("cookie: mine=secret\n"), fields);
                    Expect.Equal(!other, fields.Contains("proxy-authorization: Basic secret\n"), fields);
                    // Nobody but the app knows what it is.
                    Expect.True(fields.Contains("x-api-key: told\n"), fields);
                }
            }
        });

        public static Task CookiesOfAnOriginStayThere() => With(async client =>
        {
            await client.GetStringAsync("set?c=a%3D1%3B%20Path%3D%2F");
            var fields = await client.GetStringAsync("to/302?location=" + Target(true, "fields"));
            Expect.True(!fields.Contains("cookie"), fields);
        });

        public static async Task TheAppsCookiesAndTheJarsAreOneField()
        {
            using (var client = Client(RoutePolicy.Http11))
            {
                await client.GetStringAsync("set?c=a%3D1%3B%20Path%3D%2F");
                var request = new HttpRequestMessage(HttpMethod.Get, "fields");
                request.Headers.Add("cookie", "mine=2");
                using (var response = await client.SendAsync(request))
                {
                    var fields = await response.Content.ReadAsStringAsync();
                    Expect.True(fields.Contains("cookie: mine=2; a=1\n"), fields);
                    Expect.Equal(fields.IndexOf("cookie: "), fields.LastIndexOf("cookie: "), fields);
                }
            }
        }

        public static Task BodiesGoAlongWhereTheStatusSaysSo() => With(async client =>
        {
            foreach (var expected in new[] { "302 GET\n", "303 GET\n", "307 POST\nbody", "308 POST\nbody" })
            {
                var location = "to/" + expected.Substring(0, 3) + "?location=" + Target(true, "echo");
                using (var response = await client.PostAsync(location, new StringContent("body")))
                    Expect.Equal(expected.Substring(4), await response.Content.ReadAsStringAsync());
            }
        });

        public static Task TheAppsHostIsSentToItsOrigin() => With(async client =>
        {
            foreach (var policy in new[] { RoutePolicy.Http11, RoutePolicy.Tcp })
                using (var pinned = Client(policy))
                {
                    Expect.Equal("virtual.example", await Host(pinned, "host"));
                    Expect.Equal("virtual.example", await Host(pinned, "to/302?location=/host"));
                    Expect.Equal(Other.Authority, await Host(pinned, "to/302?location=" + Target(true, "host")));
                }
        });

        public static Task LocationsMayBeUtf8() => With(async client =>
        {
            using (var response = await client.GetAsync("to-utf8"))
            {
                Expect.Equal("UTF-8", await response.Content.ReadAsStringAsync());
                Expect.Equal("/sm%C3%B8rrebr%C3%B8d", response.RequestMessage.RequestUri.AbsolutePath);
            }
        });

        public static Task APlainUrlIsNotFollowed() => With(async client =>
        {
            using (var response = await client.GetAsync("to/302?location=http://localhost/"))
                Expect.Equal(HttpStatusCode.Found, response.StatusCode);
        });

        static async Task<string> Host(HttpClient client, string path)
        {
            var request = new HttpRequestMessage(HttpMethod.Get, path);
            request.Headers.Host = "virtual.example";
            using (var response = await client.SendAsync(request))
                return await response.Content.ReadAsStringAsync();
        }

        /// <summary>The same site by another name.</summary>
        static Uri Other => new UriBuilder(Setting.Site) { Host = "other.localhost" }.Uri;

        static string Target(bool other, string path) =>
            Uri.EscapeDataString(other ? new Uri(Other, path).AbsoluteUri : "/" + path);

        static async Task With(Func<HttpClient, Task> run)
        {
            using (var client = Client(RoutePolicy.Adaptive))
                await run(client);
        }

        static HttpClient Client(RoutePolicy policy)
        {
            var options = Setting.ForSite();
            options.Policy = policy;
            options.Addresses.Add(new KeyValuePair<string, IPAddress>("other.localhost", IPAddress.Loopback));
            return new HttpClient(new CommuteHandler(new CommuteEngine(options), true)) { BaseAddress = new Uri(Setting.Site) };
        }
    }
}
