// An app's work around a call that sends and receives a message, with the codecs in `codec/`.

using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using Commute.Bench;

namespace Commute
{
    /// <summary>The messages of a setup, in its codec.</summary>
    sealed class Messages
    {
        static readonly Dictionary<string, string> ContentTypes = new Dictionary<string, string>
        {
            ["json"] = "application/json",
            ["protobuf"] = "application/protobuf",
            ["msgpack"] = "application/vnd.msgpack",
            ["msgpack-array"] = "application/vnd.msgpack; form=array",
            ["msgpack-old"] = "application/vnd.msgpack; form=old",
        };

        readonly Codec codec;
        readonly IReadOnlyDictionary<string, string> files;
        readonly Dictionary<string, object> read = new Dictionary<string, object>();
        readonly Dictionary<Type, Coder> coders = new Dictionary<Type, Coder>();

        public Messages(string codecName, IReadOnlyDictionary<string, string> files)
        {
            codec = ExchangeCodecs.FirstOrDefault(known => known.Name == codecName)
                ?? throw new UnsupportedException("codec " + codecName, "this driver has no such codec");
            this.files = files;
        }

        /// <summary>The names of the codecs that messages can be exchanged in.</summary>
        public static IEnumerable<string> CodecNames => ExchangeCodecs.Select(codec => codec.Name);

        /// <summary>The media type of bodies.</summary>
        public string ContentType => ContentTypes[UncompressedName];

        /// <summary>Null if the codec does not compress.</summary>
        public string ContentEncoding => UncompressedName == codec.Name ? null : "gzip";

        /// <summary>Returns the exchange of a step's message. Nothing is encoded yet.</summary>
        public Exchange Prepare(Step step)
        {
            var kind = Kinds.Find(step.MessageKind);
            if (!coders.TryGetValue(kind, out var coder))
                coders[kind] = coder = codec.For(kind);
            const string BigPrefix = "big-";
            if (kind != typeof(Big) || !step.Message.StartsWith(BigPrefix, StringComparison.Ordinal))
                return new Exchange(coder, Read(step.Message, kind));
            return int.TryParse(step.Message.Substring(BigPrefix.Length), NumberStyles.None, CultureInfo.InvariantCulture, out var n)
                ? new Exchange(coder, () => Big.Make(n))
                : throw new FailedException("message " + step.Message + ": invalid size");
        }

        object Read(string message, Type kind)
        {
            if (read.TryGetValue(message, out var plain) && plain.GetType() == kind)
                return plain;
            if (!files.TryGetValue(message, out var file))
                throw new FailedException("setup names no value file for message " + message);
            return read[message] = ValueReader.Read(file, kind);
        }

        string UncompressedName => codec.Name.Split('+')[0];

        static IEnumerable<Codec> ExchangeCodecs => Codecs.All.Where(codec => !(codec is Empty));
    }

    /// <summary>Sends and receives one message, once.</summary>
    sealed class Exchange
    {
        readonly Coder coder;
        readonly Func<object> make;
        object sent, received;

        /// <summary>An exchange of a message that is already made.</summary>
        public Exchange(Coder coder, object message)
        {
            this.coder = coder;
            sent = message;
        }

        /// <summary>An exchange of a message that is made during the call.</summary>
        public Exchange(Coder coder, Func<object> make)
        {
            this.coder = coder;
            this.make = make;
        }

        /// <summary>Returns the request's body and stamps the row.</summary>
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

        /// <summary>Decodes the answer, which ends the call.</summary>
        public void Decode(byte[] body, Row row)
        {
            try
            {
                received = coder.Convert(coder.Decode(body));
            }
            catch (Exception error)
            {
                // Each library has its own exceptions for bytes that are not a message.
                row.Fail("protocol", error.Message);
            }
            row.EndNs = Clock.NowNs();
        }

        /// <summary>
        /// Fails the row if the message received differs from the one sent. Runs after the call.
        /// </summary>
        public void Compare(Row row)
        {
            if (row.ErrorKind == null && !IsSame())
                row.Fail("protocol", "the echo differs");
        }

        bool IsSame()
        {
            try
            {
                return ValueWriter.Write(sent) == ValueWriter.Write(received);
            }
            catch (Exception error) when (error is InvalidDataException || error is ArgumentException)
            {
                // The answer has no value file: a field is missing, or a string is not valid.
                return false;
            }
        }
    }
}
