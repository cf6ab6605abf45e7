// Encodes and decodes the messages of the codec bench on Mono and times it, by version 2 of commute's
// codec runner protocol (docs/codec-runner.md).

using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime.InteropServices;
using System.Runtime.Serialization;

namespace Commute.Bench
{
    static class Runner
    {
        static void Main()
        {
            using (var requests = Pipes.Requests())
            using (var replies = Pipes.Replies())
            {
                var conversation = new Conversation();
                while (requests.ReadLine() is string line && conversation.Answer(line) is Reply reply)
                    replies.WriteLine(RunnerProtocol.Serialize(reply));
            }
        }
    }

    /// <summary>Answers the bench's requests in order.</summary>
    sealed class Conversation
    {
        readonly ValueCache values = new ValueCache();
        readonly Dictionary<Tuple<Codec, Type>, Coder> coders = new Dictionary<Tuple<Codec, Type>, Coder>();

        /// <summary>Returns the reply to one line, or null after <c>close</c>.</summary>
        public Reply Answer(string line)
        {
            try
            {
                var request = RunnerProtocol.Parse(line);
                switch (request.Type)
                {
                    case "hello": return Hello();
                    case "setup": return new Reply("ready");
                    case "encode": return Encode(request);
                    case "decode": return Decode(request);
                    case "time": return Time(request);
                    case "close": return null;
                    default: throw new UnsupportedException("request " + request.Type, "unknown to this runner");
                }
            }
            catch (UnsupportedException refusal)
            {
                return new Reply("unsupported") { What = refusal.What, Reason = refusal.Message };
            }
            catch (SerializationException error)
            {
                return Reply.Failed("not a request: " + error.Message);
            }
            catch (Exception error)
            {
                return Reply.Failed(error.Message);
            }
        }

        static Reply Hello() => new Reply("hello")
        {
            Version = 2,
            Runtime = "mono",
            RuntimeVersion = RuntimeInformation.FrameworkDescription,
            Codecs = Codecs.All.Select(codec => new CodecInfo(codec)).ToList(),
            Heap = "GC.GetAllocatedBytesForCurrentThread",
        };

        Reply Encode(Request request)
        {
            var coder = CoderFor(request);
            var bytes = (byte[])coder.Encode(coder.Populate(values.Read(request.ValueFile, Kinds.Find(request.Message))));
            File.WriteAllBytes(request.EncodedFile, bytes);
            return new Reply("encoded") { Bytes = bytes.Length };
        }

        Reply Decode(Request request)
        {
            var coder = CoderFor(request);
            var bytes = File.ReadAllBytes(request.EncodedFile);
            string value;
            try
            {
                value = ValueWriter.Write(coder.Convert(coder.Decode(bytes)));
            }
            catch (Exception error)
            {
                // Each library has its own exceptions for bytes that are not a message.
                return Reply.Refused(error.Message);
            }
            values.Forget(request.ValueFile);
            File.WriteAllText(request.ValueFile, value);
            return new Reply("decoded");
        }

        Reply Time(Request request)
        {
            var codec = Codecs.Find(request.Codec, request.Library);
            if (!codec.Parts.Contains(request.Part))
                throw new UnsupportedException("part " + request.Part, codec.Library + " has no such part");
            var coder = CoderFor(request);
            var input = Input(coder, request);
            switch (request.Part)
            {
                case "populate": return Loop.Time(coder.Populate, input, request.Iterations);
                case "encode": return Loop.Time(coder.Encode, input, request.Iterations);
                case "decode": return Loop.Time(coder.Decode, input, request.Iterations);
                default: return Loop.Time(coder.Convert, input, request.Iterations);
            }
        }

        /// <summary>
        /// Returns the part's input. It runs no other part than the input needs, because the first
        /// <c>time</c> of a process is the cold one.
        /// </summary>
        object Input(Coder coder, Request request)
        {
            var decodes = request.Part == "decode" || request.Part == "convert";
            object bytes;
            if (decodes && request.EncodedFile != null)
                bytes = File.ReadAllBytes(request.EncodedFile);
            else
            {
                var plain = values.Read(request.ValueFile, Kinds.Find(request.Message));
                if (request.Part == "populate")
                    return plain;
                var own = coder.Populate(plain);
                if (request.Part == "encode")
                    return own;
                bytes = coder.Encode(own);
            }
            return request.Part == "decode" ? bytes : coder.Decode(bytes);
        }

        Coder CoderFor(Request request)
        {
            var codec = Codecs.Find(request.Codec, request.Library);
            var kind = Kinds.Find(request.Message);
            var key = Tuple.Create(codec, kind);
            if (!coders.TryGetValue(key, out var coder))
                coders[key] = coder = codec.For(kind);
            return coder;
        }
    }

    /// <summary>The timed loop.</summary>
    static class Loop
    {
        /// <summary>Runs a part repeatedly and returns the reply with its time.</summary>
        public static Reply Time(Func<object, object> part, object input, long iterations)
        {
            long sink = 0;
            var heapBefore = GC.GetAllocatedBytesForCurrentThread();
            var beginNs = Clock.NowNs();
            for (long i = 0; i < iterations; i++)
                sink += SinkValue(part(input));
            var endNs = Clock.NowNs();
            var heapBytes = GC.GetAllocatedBytesForCurrentThread() - heapBefore;
            return new Reply("timed") { ElapsedNs = endNs - beginNs, HeapBytes = heapBytes, Sink = sink };
        }

        static int SinkValue(object result) => result is byte[] bytes ? bytes.Length : 1;
    }

    /// <summary>Caches the plain objects read last, by file.</summary>
    sealed class ValueCache
    {
        const int MaxValues = 32;

        readonly List<KeyValuePair<string, object>> values = new List<KeyValuePair<string, object>>();

        /// <summary>Returns the message in a file.</summary>
        public object Read(string path, Type kind)
        {
            var cached = values.Find(value => value.Key == path).Value;
            if (cached != null && cached.GetType() == kind)
                return cached;
            var read = ValueReader.Read(path, kind);
            Forget(path);
            values.Add(new KeyValuePair<string, object>(path, read));
            if (values.Count > MaxValues)
                values.RemoveAt(0);
            return read;
        }

        /// <summary>Removes a file whose content has changed.</summary>
        public void Forget(string path) => values.RemoveAll(value => value.Key == path);
    }
}
