// Encodes and decodes the messages of the codec bench on Mono and says how long it took, by
// commute's contract for codec runners, version 2 (docs/codec-runner.md).

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
                    replies.WriteLine(Words.Write(reply));
            }
        }
    }

    /// What the bench and the runner say to each other, in order.
    sealed class Conversation
    {
        readonly ReadValues values = new ReadValues();
        readonly Dictionary<Tuple<Codec, Type>, Coder> coders = new Dictionary<Tuple<Codec, Type>, Coder>();

        /// The reply to one line; null after `close`.
        public Reply Answer(string line)
        {
            try
            {
                var request = Words.Read(line);
                switch (request.Type)
                {
                    case "hello": return Hello();
                    case "setup": return new Reply("ready");
                    case "encode": return Encode(request);
                    case "decode": return Decode(request);
                    case "time": return Time(request);
                    case "close": return null;
                    default: throw new Unsupported("request " + request.Type, "this runner does not know it");
                }
            }
            catch (Unsupported refusal)
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
            Codecs = Codecs.All.Select(codec => new CodecWords(codec)).ToList(),
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
                // Each library has its own ways of saying that bytes are no message.
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
                throw new Unsupported("part " + request.Part, codec.Library + " has no such part");
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

        /// What the part takes. Nothing is done for it that the part does not need: the first
        /// `time` of a process is the cold one.
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

    static class Loop
    {
        public static Reply Time(Func<object, object> part, object input, long iterations)
        {
            long sink = 0;
            var heapBefore = GC.GetAllocatedBytesForCurrentThread();
            var beginNs = Clock.NowNs();
            for (long i = 0; i < iterations; i++)
                sink += Weight(part(input));
            var endNs = Clock.NowNs();
            var heapBytes = GC.GetAllocatedBytesForCurrentThread() - heapBefore;
            return new Reply("timed") { ElapsedNs = endNs - beginNs, HeapBytes = heapBytes, Sink = sink };
        }

        static int Weight(object result) => result is byte[] bytes ? bytes.Length : 1;
    }

    /// Plain objects by the file they were read from, the latest few.
    sealed class ReadValues
    {
        const int Most = 32;

        readonly List<KeyValuePair<string, object>> values = new List<KeyValuePair<string, object>>();

        public object Read(string path, Type kind)
        {
            var known = values.Find(value => value.Key == path).Value;
            if (known != null && known.GetType() == kind)
                return known;
            var read = ValueReader.Read(path, kind);
            Forget(path);
            values.Add(new KeyValuePair<string, object>(path, read));
            if (values.Count > Most)
                values.RemoveAt(0);
            return read;
        }

        /// The file holds something else now.
        public void Forget(string path) => values.RemoveAll(value => value.Key == path);
    }
}
