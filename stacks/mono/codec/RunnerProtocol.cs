// The messages of the codec runner protocol (docs/codec-runner.md). They go through the runtime's own
// JSON, because the libraries that are timed must still be cold at their first timing.

using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime.Serialization;
using System.Runtime.Serialization.Json;
using System.Text;

namespace Commute.Bench
{
    /// <summary>Parses requests and serialises replies.</summary>
    static class RunnerProtocol
    {
        static readonly DataContractJsonSerializer Requests = new DataContractJsonSerializer(typeof(Request));
        static readonly DataContractJsonSerializer Replies = new DataContractJsonSerializer(typeof(Reply));

        public static Request Parse(string line)
        {
            using (var bytes = new MemoryStream(Encoding.UTF8.GetBytes(line)))
                return (Request)Requests.ReadObject(bytes) ?? throw new SerializationException("null");
        }

        public static string Serialize(Reply reply)
        {
            using (var bytes = new MemoryStream())
            {
                Replies.WriteObject(bytes, reply);
                return Encoding.UTF8.GetString(bytes.ToArray());
            }
        }
    }

    [DataContract]
    sealed class Request
    {
        [DataMember(Name = "type", IsRequired = true)] public string Type;
        [DataMember(Name = "codec")] public string Codec;
        [DataMember(Name = "library")] public string Library;
        [DataMember(Name = "message")] public string Message;
        [DataMember(Name = "value_file")] public string ValueFile;
        [DataMember(Name = "encoded_file")] public string EncodedFile;
        [DataMember(Name = "part")] public string Part;
        [DataMember(Name = "iterations")] public long Iterations;
    }

    [DataContract]
    sealed class Reply
    {
        const int MaxText = 1000;

        [DataMember(Name = "type", Order = 0)] public readonly string Type;
        [DataMember(Name = "version", Order = 1, EmitDefaultValue = false)] public int? Version;
        [DataMember(Name = "runtime", Order = 2, EmitDefaultValue = false)] public string Runtime;
        [DataMember(Name = "runtime_version", Order = 3, EmitDefaultValue = false)] public string RuntimeVersion;
        [DataMember(Name = "codecs", Order = 4, EmitDefaultValue = false)] public List<CodecInfo> Codecs;
        [DataMember(Name = "heap", Order = 5, EmitDefaultValue = false)] public string Heap;
        [DataMember(Name = "bytes", Order = 6, EmitDefaultValue = false)] public long? Bytes;
        [DataMember(Name = "elapsed_ns", Order = 7, EmitDefaultValue = false)] public long? ElapsedNs;
        [DataMember(Name = "heap_bytes", Order = 8, EmitDefaultValue = false)] public long? HeapBytes;
        [DataMember(Name = "sink", Order = 9, EmitDefaultValue = false)] public long? Sink;
        [DataMember(Name = "what", Order = 10, EmitDefaultValue = false)] public string What;
        [DataMember(Name = "reason", Order = 11, EmitDefaultValue = false)] public string Reason;
        [DataMember(Name = "error", Order = 12, EmitDefaultValue = false)] public string Error;

        public Reply(string type)
        {
            Type = type;
        }

        public static Reply Refused(string error) => new Reply("refused") { Error = OneLine(error) };

        public static Reply Failed(string reason) => new Reply("failed") { Reason = OneLine(reason) };

        static string OneLine(string text)
        {
            var line = new string(text.Select(c => char.IsControl(c) ? ' ' : c).ToArray());
            return line.Length > MaxText ? line.Substring(0, MaxText) : line;
        }
    }

    [DataContract]
    sealed class CodecInfo
    {
        [DataMember(Name = "codec", Order = 0)] public readonly string Codec;
        [DataMember(Name = "library", Order = 1)] public readonly string Library;
        [DataMember(Name = "library_version", Order = 2)] public readonly string LibraryVersion;
        [DataMember(Name = "parts", Order = 3)] public readonly string[] Parts;
        [DataMember(Name = "caveat", Order = 4, EmitDefaultValue = false)] public readonly string Caveat;

        public CodecInfo(Codec codec)
        {
            Codec = codec.Name;
            Library = codec.Library;
            LibraryVersion = codec.LibraryVersion;
            Parts = codec.Parts;
            Caveat = codec.Caveat;
        }
    }
}
