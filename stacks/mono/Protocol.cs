// The protocol's words: what the lab asks and what a row says.

using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

namespace Commute
{
    static class Json
    {
        public static JObject Parse(string line)
        {
            // Texts that look like dates stay texts.
            using (var reader = new JsonTextReader(new StringReader(line)) { DateParseHandling = DateParseHandling.None })
                return JObject.Load(reader);
        }

        public static string Text(this JObject json, string name) =>
            json.TextOrNull(name) ?? throw new FormatException("no " + name);

        public static string TextOrNull(this JObject json, string name)
        {
            var value = json[name];
            if (value == null || value.Type == JTokenType.Null)
                return null;
            if (value.Type != JTokenType.String)
                throw new FormatException(name + " is no text");
            return (string)value;
        }

        public static long Number(this JObject json, string name) =>
            json.NumberOrNull(name) ?? throw new FormatException("no " + name);

        public static long? NumberOrNull(this JObject json, string name)
        {
            var value = json[name];
            if (value == null || value.Type == JTokenType.Null)
                return null;
            if (value.Type != JTokenType.Integer || (long)value < 0)
                throw new FormatException(name + " is no whole number");
            return (long)value;
        }

        /// Names and the files they stand for; none if the object is not there.
        public static Dictionary<string, string> Files(this JObject json, string name)
        {
            var files = json[name] as JObject ?? new JObject();
            return files.Properties().ToDictionary(file => file.Name, file => files.Text(file.Name));
        }

        public static List<Step> Steps(this JObject run)
        {
            var steps = run["steps"] as JArray ?? throw new FormatException("no steps");
            return steps.Select(step => new Step(step as JObject ?? throw new FormatException("a step is no object"))).ToList();
        }
    }

    sealed class Setup
    {
        public readonly Uri Url;
        public readonly Uri WarmupUrl;
        public readonly long WarmupCalls;
        public readonly string CaFile, ClientCertFile, ClientKeyFile;
        public readonly string Protocol;
        /// What `exchange` steps exchange.
        public readonly Messages Messages;
        public readonly long TimeoutNs;
        /// Frames a second of the loop in which the application sees its calls end; 0: no loop.
        public readonly int FramesPerSecond;

        public Setup(JObject json)
        {
            Refuse("congestion", json.TextOrNull("congestion") != null, "these stacks cannot choose it");
            Refuse("discovery", json.TextOrNull("discovery") != null, "this driver forces its protocol");
            Messages = new Messages(json.Text("codec"), json.Files("values"));
            Url = new Uri(json.Text("url"));
            WarmupUrl = json.TextOrNull("warmup_url") is string warmup ? new Uri(warmup) : null;
            WarmupCalls = json.NumberOrNull("warmup_calls") ?? 1;
            CaFile = Readable(json.Text("ca_file"));
            ClientCertFile = Readable(json.TextOrNull("client_cert_file"));
            ClientKeyFile = Readable(json.TextOrNull("client_key_file"));
            Protocol = json.Text("protocol");
            TimeoutNs = json.Number("timeout_ns");
            if (json.TextOrNull("observe") is string observe)
                FramesPerSecond = Frames(observe);
        }

        /// The same for the warm-up's origin.
        public Setup(Setup setup)
        {
            Url = setup.WarmupUrl;
            CaFile = setup.CaFile;
            ClientCertFile = setup.ClientCertFile;
            ClientKeyFile = setup.ClientKeyFile;
            Protocol = setup.Protocol;
            TimeoutNs = setup.TimeoutNs;
        }

        /// What a call's request says of itself.
        public IEnumerable<KeyValuePair<string, string>> Headers(Step step)
        {
            yield return Header("x-commute-id", step.Id.ToString());
            if (step.Kind == "call")
                yield return Header("content-type", "application/json");
            else if (step.Kind == "put")
                yield return Header("content-type", "application/octet-stream");
            else if (step.Kind == "exchange")
            {
                yield return Header("content-type", Messages.ContentType);
                yield return Header("accept-encoding", Messages.ContentEncoding ?? "identity");
                if (Messages.ContentEncoding != null)
                    yield return Header("content-encoding", Messages.ContentEncoding);
            }
        }

        static KeyValuePair<string, string> Header(string name, string value) => new KeyValuePair<string, string>(name, value);

        static int Frames(string observe)
        {
            const string Prefix = "frame:";
            if (observe.StartsWith(Prefix, StringComparison.Ordinal)
                && int.TryParse(observe.Substring(Prefix.Length), out var hz) && hz >= 1 && hz <= 1000)
                return hz;
            throw new Unsupported("observe " + observe, "known is frame:HZ, 1 to 1000 a second");
        }

        static void Refuse(string what, bool refused, string reason)
        {
            if (refused)
                throw new Unsupported(what, reason);
        }

        static string Readable(string path)
        {
            if (path != null && !File.Exists(path))
                throw new Failed("no file " + path);
            return path;
        }
    }

    sealed class Step
    {
        public readonly long Id, Group;
        public readonly string Kind, Body, Mode, Message, MessageKind;
        public readonly long Bytes, PauseNs;
        public readonly long? After, AtNs, CancelAfterNs;

        public Step(JObject json)
        {
            Id = json.Number("id");
            Group = json.Number("group");
            Kind = json.Text("step");
            switch (Kind)
            {
                case "call": Body = json.Text("body"); break;
                case "get": case "put": Bytes = json.Number("bytes"); break;
                case "exchange": Message = json.Text("message"); MessageKind = json.Text("kind"); break;
                case "pause": PauseNs = json.Number("ns"); break;
                case "reconnect": Mode = json.Text("mode"); break;
                case "stream": throw new Unsupported("step stream", "these stacks have no messages to stream");
                default: throw new Unsupported("step " + Kind, "this driver does not know it");
            }
            CancelAfterNs = json.NumberOrNull("cancel_after_ns");
            if (!(json["start"] is JObject start))
                return;
            After = start.NumberOrNull("after");
            AtNs = start.NumberOrNull("at_ns");
            if (After == null && AtNs == null)
                throw new Unsupported("start " + start.ToString(Formatting.None), "this driver does not know it");
        }

        public static Step Get(long id, long bytes) => new Step(new JObject
        {
            ["id"] = id, ["group"] = 1, ["step"] = "get", ["bytes"] = bytes,
        });

        public string Method => Kind == "get" ? "GET" : Kind == "put" ? "PUT" : "POST";

        public string Path =>
            Kind == "call" ? "/echo" : Kind == "put" ? "/upload" : Kind == "get" ? "/bytes/" + Bytes : "/exchange/" + MessageKind;

        public bool IsCall => Kind == "call" || Kind == "get" || Kind == "put" || Kind == "exchange";
    }

    sealed class Row
    {
        const int LongestDetail = 1000;

        public long Id, Connection, StartNs, EndNs, RequestBytes;
        public long? LocalPort, DnsNs, ConnectNs, TlsNs, CreatedNs, EncodedNs, RequestSentNs, FirstByteNs, ReceivedNs, Status;
        public string Protocol, ErrorKind, ErrorDetail;
        public bool Reused, Resumed, EarlyData;
        public int Attempts;

        public void Fail(string kind, string detail)
        {
            ErrorKind = kind;
            ErrorDetail = detail.Length > LongestDetail ? detail.Substring(0, LongestDetail) : detail;
        }

        public JObject ToJson(Body response)
        {
            var row = new JObject { ["type"] = "row", ["id"] = Id, ["connection"] = Connection };
            Add(row, "local_port", LocalPort);
            row["start_ns"] = StartNs;
            Add(row, "dns_ns", DnsNs);
            Add(row, "connect_ns", ConnectNs);
            Add(row, "tls_ns", TlsNs);
            Add(row, "created_ns", CreatedNs);
            Add(row, "encoded_ns", EncodedNs);
            Add(row, "request_sent_ns", RequestSentNs);
            Add(row, "first_byte_ns", FirstByteNs);
            Add(row, "received_ns", ReceivedNs);
            row["end_ns"] = EndNs;
            Add(row, "status", Status);
            row["request_bytes"] = RequestBytes;
            row["response_bytes"] = response.Length;
            if (FirstByteNs != null)
                row["digest"] = response.Digest();
            if (Protocol != null)
                row["protocol"] = Protocol;
            row["reused"] = Reused;
            row["resumed"] = Resumed;
            row["early_data"] = EarlyData;
            row["attempts"] = Attempts;
            if (ErrorKind != null)
                row["error"] = new JObject { ["kind"] = ErrorKind, ["detail"] = ErrorDetail };
            return row;
        }

        static void Add(JObject row, string name, long? value)
        {
            if (value != null)
                row[name] = value;
        }
    }
}
