// What an app does around a call that takes a message there and back, by the codecs of `codec/`.

using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using Commute.Bench;

namespace Commute
{
    /// The messages that a setup names, in its codec.
    sealed class Messages
    {
        readonly Codec codec;
        readonly IReadOnlyDictionary<string, string> files;
        readonly Dictionary<string, object> read = new Dictionary<string, object>();
        readonly Dictionary<Type, Coder> coders = new Dictionary<Type, Coder>();

        public Messages(string codecName, IReadOnlyDictionary<string, string> files)
        {
            codec = Exchangeable.FirstOrDefault(known => known.Name == codecName)
                ?? throw new Unsupported("codec " + codecName, "this driver has no such codec");
            this.files = files;
        }

        /// Those that can be exchanged, by name.
        public static IEnumerable<string> CodecNames => Exchangeable.Select(codec => codec.Name);

        public string ContentType => ContentTypes[Form];

        /// Null if nothing is compressed.
        public string ContentEncoding => Form == codec.Name ? null : "gzip";

        /// Readies the exchange of a step's message. Nothing is encoded yet.
        public Exchange Prepare(Step step)
        {
            var kind = Kinds.Find(step.MessageKind);
            if (!coders.TryGetValue(kind, out var coder))
                coders[kind] = coder = codec.For(kind);
            const string Rule = "big-";
            if (kind != typeof(Big) || !step.Message.StartsWith(Rule, StringComparison.Ordinal))
                return new Exchange(coder, Read(step.Message, kind));
            return int.TryParse(step.Message.Substring(Rule.Length), NumberStyles.None, CultureInfo.InvariantCulture, out var n)
                ? new Exchange(coder, () => Big.Make(n))
                : throw new Failed("message " + step.Message + " has no size");
        }

        object Read(string message, Type kind)
        {
            if (read.TryGetValue(message, out var plain) && plain.GetType() == kind)
                return plain;
            if (!files.TryGetValue(message, out var file))
                throw new Failed("setup named no value file of " + message);
            return read[message] = ValueReader.Read(file, kind);
        }

        string Form => codec.Name.Split('+')[0];

        static IEnumerable<Codec> Exchangeable => Codecs.All.Where(codec => !(codec is Empty));

        static readonly Dictionary<string, string> ContentTypes = new Dictionary<string, string>
        {
            ["json"] = "application/json",
            ["protobuf"] = "application/protobuf",
            ["msgpack"] = "application/vnd.msgpack",
            ["msgpack-array"] = "application/vnd.msgpack; form=array",
            ["msgpack-old"] = "application/vnd.msgpack; form=old",
        };
    }

    /// One message there and back.
    sealed class Exchange
    {
        readonly Coder coder;
        readonly Func<object> make;
        object sent, answer;

        /// Of a message that is there already.
        public Exchange(Coder coder, object message)
        {
            this.coder = coder;
            sent = message;
        }

        /// Of a message that is made within the call.
        public Exchange(Coder coder, Func<object> make)
        {
            this.coder = coder;
            this.make = make;
        }

        public byte[] Encode(Row row)
        {
            if (make != null)
            {
                sent = make();
                row.CreatedNs = Clock.NowNs();
            }
            var body = (byte[])coder.Encode(coder.Populate(sent));
            row.EncodedNs = Clock.NowNs();
            return body;
        }

        /// The answer is here whole; the call ends with its decoding.
        public void Decode(byte[] body, Row row)
        {
            try
            {
                answer = coder.Convert(coder.Decode(body));
            }
            catch (Exception error)
            {
                // Each library has its own ways of saying that bytes are no message.
                row.Fail("protocol", error.Message);
            }
            row.EndNs = Clock.NowNs();
        }

        /// After the call: did the message come back?
        public void Compare(Row row)
        {
            if (row.ErrorKind == null && !Same())
                row.Fail("protocol", "the echo differs");
        }

        bool Same()
        {
            try
            {
                return ValueWriter.Write(sent) == ValueWriter.Write(answer);
            }
            catch (Exception error) when (error is InvalidDataException || error is ArgumentException)
            {
                // The answer has no value: a field is missing, or a text is none.
                return false;
            }
        }
    }
}
