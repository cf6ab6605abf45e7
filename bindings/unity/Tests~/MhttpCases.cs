using System;
using System.Collections;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Commute.Client;
using Mhttp;

namespace CommuteTests
{
    /// <summary>Mhttp, as coroutines use it.</summary>
    public static class MhttpCases
    {
        public static Task GetAndPost() => With(async () =>
        {
            var get = await Ended(new Request(Setting.Site + "echo"));
            Expect.Equal("200 GET\n", get.code + " " + Encoding.UTF8.GetString(get.data));
            Expect.Equal(null, get.error);
            Expect.Equal("h2", get.report.Protocol);
            var headers = new Dictionary<string, string> { ["content-type"] = "text/x-mine", ["x-mine"] = "1" };
            var post = await Ended(new Request(Setting.Site + "echo", Encoding.UTF8.GetBytes("body"), headers: headers));
            Expect.Equal("POST\nbody", Encoding.UTF8.GetString(post.data));
            Expect.Equal("text/x-mine", post.header("Content-Type"));
            Expect.Equal(null, post.header("x-none"));
            var put = await Ended(new Request(Setting.Site + "echo", method: "PUT"));
            Expect.Equal("PUT\n", Encoding.UTF8.GetString(put.data));
        });

        public static Task StatusesAreNoErrors() => With(async () =>
        {
            var response = await Ended(new Request(Setting.Site + "status/404"));
            Expect.Equal("404 ", response.code + " " + response.error);
        });

        public static Task AFileAppearsWhole() => With(async () =>
        {
            var folder = Path.Combine(Path.GetTempPath(), "mhttp-" + Guid.NewGuid());
            var path = Path.Combine(folder, "new", "file");
            var options = new Options { filepath = path };
            try
            {
                for (var round = 0; round < 2; round++)
                {
                    var response = await Ended(new Request(Setting.Site + "gzip", options: options));
                    Expect.Equal(null, response.error);
                    Expect.True(response.data == null && new FileInfo(path).Length > 50, "it is in the file");
                }
                var missing = await Ended(new Request(Setting.Site + "status/404", options: options));
                Expect.Equal(404, missing.code);
                var cut = await Ended(new Request(Setting.Site + "endless", options: new Options { filepath = path, timeoutMs = 200 }));
                Expect.True(cut.error.Contains("not complete in time"), cut.error);
                Expect.Equal(1, Directory.GetFiles(Path.GetDirectoryName(path)).Length, "files");
                Expect.True(new FileInfo(path).Length > 50, "the file of before is still there");
            }
            finally
            {
                Directory.Delete(folder, true);
            }
        });

        public static Task SeveralRequestsForOneFileDoNotDisturbEachOther() => With(async () =>
        {
            var folder = Path.Combine(Path.GetTempPath(), "mhttp-" + Guid.NewGuid());
            var path = Path.Combine(folder, "file");
            try
            {
                var first = Client.Send(new Request(Setting.Site + "endless", options: new Options { filepath = path }));
                // It writes until it is aborted.
                while (!File.Exists(path + ".part"))
                    await Task.Delay(1);
                for (var round = 0; round < 2; round++)
                {
                    var second = await Ended(new Request(Setting.Site + "gzip", options: new Options { filepath = path }));
                    Expect.Equal(null, second.error);
                    Expect.True(new FileInfo(path).Length > 50 && File.Exists(path + ".part"), "both are there");
                }
                first.Abort();
                while (!first.isDone)
                    await Task.Delay(1);
                Expect.Equal(1, Directory.GetFiles(folder).Length, "files");
                await Task.WhenAll(Enumerable.Range(0, 20).Select(async _ => Expect.Equal(null,
                    (await Ended(new Request(Setting.Site + "gzip", options: new Options { filepath = path }))).error)));
                Expect.Equal(1, Directory.GetFiles(folder).Length, "files");
            }
            finally
            {
                Directory.Delete(folder, true);
            }
        });

        public static Task ACallbackThatThrowsDoesNotEndTheProcess() => With(async () =>
        {
            var threw = new TaskCompletionSource<bool>();
            Client.Send(new Request(Setting.Site + "echo", options: new Options { callbackOnThreadPool = true }, callback: _ =>
            {
                threw.SetResult(true);
                throw new Exception("on purpose");
            }));
            await threw.Task;
            // If it ended the process, it would do so now.
            await Task.Delay(100);
        });

        public static Task CallbacksComeOnce() => With(async () =>
        {
            foreach (var path in new[] { "echo", "status/500", "stall" })
            {
                var calls = 0;
                var called = new TaskCompletionSource<Response>();
                var response = Client.Send(new Request(Setting.Site + path, callback: ended =>
                {
                    Interlocked.Increment(ref calls);
                    called.TrySetResult(ended);
                }));
                if (path == "stall")
                {
                    Expect.Equal(null, response.header("x"));
                    response.Abort();
                    response.Abort();
                }
                Expect.True(ReferenceEquals(response, await called.Task) && response.isDone, path);
                Expect.Equal(path == "stall", response.error != null);
                response.Abort();
                await Task.Delay(50);
                Expect.Equal(1, calls, path);
            }
        });

        public static Task CallbacksComeOnTheThreadThatSent() => With(async () =>
        {
            var main = new Main();
            var seen = new TaskCompletionSource<Thread>();
            var before = SynchronizationContext.Current;
            SynchronizationContext.SetSynchronizationContext(main);
            Client.Send(new Request(Setting.Site + "echo", callback: _ => seen.SetResult(Thread.CurrentThread)));
            var pooled = new TaskCompletionSource<bool>();
            Client.Send(new Request(Setting.Site + "echo", callback: _ => pooled.SetResult(Thread.CurrentThread.IsThreadPoolThread),
                options: new Options { callbackOnThreadPool = true }));
            SynchronizationContext.SetSynchronizationContext(before);
            Expect.True(await pooled.Task.ConfigureAwait(false), "on the pool if asked for");
            var thread = Thread.CurrentThread;
            main.RunOne();
            Expect.Equal(thread, await seen.Task.ConfigureAwait(false));
        });

        static async Task With(Func<Task> run)
        {
            using (var engine = new CommuteEngine(Setting.ForSite()))
            {
                Client.Use(new CommuteHandler(engine));
                await run();
            }
        }

        /// <summary>Steps a response as Unity steps a coroutine.</summary>
        static async Task<Response> Ended(Request request)
        {
            var response = Client.Send(request);
            while (((IEnumerator)response).MoveNext())
                await Task.Delay(5);
            return response;
        }

        /// <summary>A main thread that runs what is posted when it is asked to.</summary>
        sealed class Main : SynchronizationContext
        {
            readonly System.Collections.Concurrent.BlockingCollection<Action> posted =
                new System.Collections.Concurrent.BlockingCollection<Action>();

            public override void Post(SendOrPostCallback callback, object state) => posted.Add(() => callback(state));

            public void RunOne() => posted.Take()();
        }
    }
}
