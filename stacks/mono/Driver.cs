// Drives a .NET HTTP stack on Mono by commute's driver protocol, version 2
// (docs/driver-protocol.md). `driver.exe STACK`: STACK is `web-request` or `libcurl`.

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
                default: throw new Failed("usage: driver.exe web-request|libcurl");
            }
        }
    }

    /// What the lab and the driver say to each other, in order.
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

        /// Answers one line; false after `close`.
        public bool Answer(string line)
        {
            try
            {
                var request = Json.Parse(line);
                var kind = request.Text("type");
                switch (kind)
                {
                    case "hello":
                        send(Library.Hello());
                        break;
                    case "setup":
                        Close();
                        session = Library.Open(new Setup(request));
                        send(new JObject { ["type"] = "ready" });
                        break;
                    case "run":
                        if (session == null)
                            throw new Failed("run came before setup");
                        new Run(session, request.Steps()).Follow(send);
                        send(new JObject { ["type"] = "done" });
                        break;
                    case "close":
                        return false;
                    default:
                        throw new Unsupported("request " + kind, "this driver does not know it");
                }
            }
            catch (Unsupported refusal)
            {
                send(new JObject
                {
                    ["type"] = "unsupported", ["what"] = refusal.What, ["reason"] = refusal.Message,
                });
            }
            catch (Failed failure)
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

        public void Close()
        {
            session?.Dispose();
            session = null;
        }

        Stack Library => stack ?? (stack = newStack());
    }
}
