// Drives a .NET HTTP stack on Mono by version 2 of commute's driver protocol
// (docs/driver-protocol.md). Usage: driver.exe web-request|libcurl|commute

using System;
using System.IO;
using System.Security.Cryptography;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

namespace Commute
{
    static class Driver
    {
        static void Main(string[] args)
        {
            using (var requests = Pipes.Requests())
            using (var replies = Pipes.Replies())
            {
                var conversation = new Conversation(
                    () => NewStack(args.Length == 1 ? args[0] : ""),
                    reply => replies.WriteLine(reply.ToString(Formatting.None)));
                while (requests.ReadLine() is string line && conversation.Answer(line))
                {
                }
                conversation.Close();
            }
        }

        static Stack NewStack(string name)
        {
            switch (name)
            {
                case "web-request": return new WebRequestStack();
                case "libcurl": return new CurlStack();
                case "commute": return new CommuteStack();
                default: throw new FailedException("usage: driver.exe web-request|libcurl|commute");
            }
        }
    }

    /// <summary>Answers the lab's requests in order.</summary>
    sealed class Conversation
    {
        readonly Func<Stack> newStack;
        readonly Action<JObject> send;
        Stack stack;
        Session session;

        public Conversation(Func<Stack> newStack, Action<JObject> send)
        {
            this.newStack = newStack;
            this.send = send;
        }

        /// <summary>Answers one line. Returns false after <c>close</c>.</summary>
        public bool Answer(string line)
        {
            try
            {
                var request = Json.Parse(line);
                var kind = request.Text("type");
                switch (kind)
                {
                    case "hello":
                        send(LoadedStack.Hello());
                        break;
                    case "setup":
                        Close();
                        session = LoadedStack.Open(new Setup(request));
                        send(new JObject { ["type"] = "ready" });
                        break;
                    case "run":
                        if (session == null)
                            throw new FailedException("run came before setup");
                        new Run(session, request.Steps()).Execute(send);
                        send(new JObject { ["type"] = "done" });
                        break;
                    case "close":
                        return false;
                    default:
                        throw new UnsupportedException("request " + kind, "unknown to this driver");
                }
            }
            catch (UnsupportedException refusal)
            {
                send(new JObject
                {
                    ["type"] = "unsupported", ["what"] = refusal.What, ["reason"] = refusal.Message,
                });
            }
            catch (FailedException failure)
            {
                send(new JObject { ["type"] = "failed", ["reason"] = failure.Message });
            }
            catch (Exception error) when (error is JsonException || error is FormatException || error is OverflowException)
            {
                send(new JObject { ["type"] = "failed", ["reason"] = "not a request: " + error.Message });
            }
            catch (Exception error) when (error is IOException || error is UnauthorizedAccessException
                || error is CryptographicException)
            {
                send(new JObject { ["type"] = "failed", ["reason"] = error.Message });
            }
            return true;
        }

        /// <summary>Closes the session, if there is one.</summary>
        public void Close()
        {
            session?.Dispose();
            session = null;
        }

        Stack LoadedStack => stack ?? (stack = newStack());
    }
}
