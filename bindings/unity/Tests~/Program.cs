// Tests of the package on Mono: HttpClient with CommuteHandler beside HttpClient with Mono's own handler.
// crates/client/client-c/tests/mono.rs and generated compile them, start the servers, and run them:
//   tests.exe SITE_URL SITE_ROOTS_PEM SERVER_URL SERVER_ROOTS_PEM   all cases
//   tests.exe wrong-library                                         prints the error without a library that fits
//   tests.exe left-open                                             ends with an engine that nobody closed
//   tests.exe answers ROOTS_PEM                                     sends the requests that standard input names

using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net;
using System.Reflection;
using System.Threading;
using System.Threading.Tasks;
using Commute.Client;

namespace CommuteTests
{
    static class Program
    {
        const int CaseMs = 60000;

        static int Main(string[] args)
        {
            if (args.Length == 1 && args[0] == "wrong-library")
                return WrongLibrary();
            if (args.Length == 1 && args[0] == "left-open")
                return LeftOpen();
            if (args.Length == 2 && args[0] == "answers")
                return Answers.Run(args[1]);
            Setting.Read(args);
            // With Mono's defaults, its own handler has two connections and a pool that grows by two a second.
            ServicePointManager.DefaultConnectionLimit = 1000;
            // Whatever the machine has.
            WebRequest.DefaultWebProxy = null;
            ThreadPool.SetMinThreads(16, 16);
            var failed = 0;
            foreach (var test in Cases())
            {
                var outcome = Outcome(test);
                Console.WriteLine((outcome == null ? "ok " : "FAILED ") + test.Name);
                if (outcome == null)
                    continue;
                Console.WriteLine(outcome);
                failed++;
            }
            Console.WriteLine(failed == 0 ? "all passed" : failed + " failed");
            return failed == 0 ? 0 : 1;
        }

        static IEnumerable<MethodInfo> Cases()
        {
            var classes = new[]
            {
                typeof(SameAsMono), typeof(Codings), typeof(Origins), typeof(Calls), typeof(Uploads), typeof(Lives),
                typeof(MhttpCases), typeof(ProxyCases),
            };
            return classes.SelectMany(type => type.GetMethods(BindingFlags.Static | BindingFlags.Public | BindingFlags.DeclaredOnly));
        }

        /// <summary>Runs a case; returns why it failed.</summary>
        static string Outcome(MethodInfo test)
        {
            var run = Task.Run(() => ((Func<Task>)Delegate.CreateDelegate(typeof(Func<Task>), test))());
            try
            {
                return run.Wait(CaseMs) ? null : "not done in time";
            }
            catch (AggregateException error)
            {
                return error.GetBaseException().ToString();
            }
        }

        static int LeftOpen()
        {
            var engine = new CommuteEngine();
            // Its thread reports the failure, and goes on to wait in native code.
            var failed = Expect.Throws<CommuteException>(() => engine.ConnectAsync(new Uri("https://127.0.0.1:1/"))).Result;
            Thread.Sleep(100);
            return failed.Status == CommuteStatus.Connect ? 0 : 1;
        }

        static int WrongLibrary()
        {
            try
            {
                new CommuteEngine();
            }
            catch (DllNotFoundException error)
            {
                Console.WriteLine(error.Message);
                return 0;
            }
            Console.WriteLine("the library fits");
            return 1;
        }
    }

    /// <summary>Where the servers are.</summary>
    static class Setting
    {
        public static string Site, Server;
        public static string[] Arguments;
        static byte[] siteRoots, serverRoots;

        public static void Read(string[] args)
        {
            Arguments = args;
            Site = args[0];
            siteRoots = File.ReadAllBytes(args[1]);
            Server = args[2];
            serverRoots = File.ReadAllBytes(args[3]);
        }

        public static EngineOptions ForSite() => Options(siteRoots);

        public static EngineOptions ForServer() => Options(serverRoots);

        static EngineOptions Options(byte[] roots)
        {
            var options = new EngineOptions { RootsPem = roots };
            options.Addresses.Add(new KeyValuePair<string, IPAddress>("localhost", IPAddress.Loopback));
            return options;
        }
    }

    static class Expect
    {
        public static void Equal<T>(T expected, T actual, string what = "")
        {
            if (!EqualityComparer<T>.Default.Equals(expected, actual))
                throw new Exception(what + "\nexpected: " + expected + "\nactual:   " + actual);
        }

        public static void True(bool holds, string what)
        {
            if (!holds)
                throw new Exception(what);
        }

        /// <summary>Returns the exception that a task ends with.</summary>
        public static async Task<T> Throws<T>(Func<Task> run) where T : Exception
        {
            try
            {
                await run();
            }
            catch (T error)
            {
                return error;
            }
            throw new Exception("did not throw " + typeof(T).Name);
        }
    }
}
