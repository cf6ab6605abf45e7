// The messages of the driver protocol: requests, steps and rows.

using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

namespace Commute
{
    /// <summary>Reads JSON objects strictly.</summary>
    static class Json
    {
        public static JObject Parse(string line)
        {
            // Strings that look like dates remain strings.
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
                throw new FormatException(name + " is not a string");
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
                throw new FormatException(name + " is not a whole number");
            return (long)value;
        }

        /// <summary>Returns files, or other texts, by name; none if the object is absent.</summary>
        public static Dictionary<string, string> Files(this JObject json, string name)
        {
            var files = json[name] as JObject ?? new JObject();
            return files.Properties().ToDictionary(file => file.Name, file => files.Text(file.Name));
        }

        public static List<Step> Steps(this JObject run)
        {
            var steps = run["steps"] as JArray ?? throw new FormatException("no steps");
            return steps.Select(step => new Step(step as JObject ?? throw new FormatException("a step is not an object"))).ToList();
        }
    }

    /// <summary>A <c>setup</c> request: the origin, how to connect to it, and the messages.</summary>
    sealed class Setup
    {
        public readonly Uri Url;
        public readonly Uri WarmupUrl;
        public readonly long WarmupCalls;
        public readonly string CaFile, ClientCertFile, ClientKeyFile;
        public readonly string Protocol;
        /// <summary>How a client with the protocol <c>auto</c> decides; null: by what it has learnt.</summary>
        public readonly string Policy;
        /// <summary>Null if requests need not prove who sends them.</summary>
        public readonly Auth Auth;
        /// <summary>The messages of <c>exchange</c> steps.</summary>
        public readonly Messages Messages;
        /// <summary>The payloads of <c>fetch</c> steps, by name.</summary>
        readonly Dictionary<string, byte[]> payloads = new Dictionary<string, byte[]>();
        public readonly long TimeoutNs;
        /// <summary>
        /// The frame rate at which the application sees its calls end, in Hz; 0 without frames.
        /// </summary>
        public readonly int FramesPerSecond;

        public Setup(JObject json)
        {
            Reject("congestion", json.TextOrNull("congestion") != null, "these stacks have no option for it");
            Reject("discovery", json.TextOrNull("discovery") != null, "this driver always forces its protocol");
            Messages = new Messages(json.Text("codec"), json.Files("values"));
            payloads = json.Files("payloads")
                .ToDictionary(file => file.Key, file => File.ReadAllBytes(ExistingFile(file.Value)));
            Url = new Uri(json.Text("url"));
            WarmupUrl = json.TextOrNull("warmup_url") is string warmup ? new Uri(warmup) : null;
            WarmupCalls = json.NumberOrNull("warmup_calls") ?? 1;
            CaFile = ExistingFile(json.Text("ca_file"));
            ClientCertFile = ExistingFile(json.TextOrNull("client_cert_file"));
            ClientKeyFile = ExistingFile(json.TextOrNull("client_key_file"));
            Protocol = json.Text("protocol");
            Policy = json.TextOrNull("policy");
            Reject("policy " + Policy, Policy != null && Policy != "race", "unknown to this driver");
            Reject("plaintext", IsPlaintext && Protocol != "h1", Protocol + " needs TLS here");
            if (json["auth"] is JObject auth)
                Auth = new Auth(auth);
            TimeoutNs = json.Number("timeout_ns");
            if (json.TextOrNull("observe") is string observe)
                FramesPerSecond = Frames(observe);
        }

        /// <summary>Whether the origin is used without TLS.</summary>
        public bool IsPlaintext => Url.Scheme == "http";

        /// <summary>Copies a setup for its warm-up origin, where requests need no proof.</summary>
        public Setup(Setup setup)
        {
            Url = setup.WarmupUrl;
            CaFile = setup.CaFile;
            ClientCertFile = setup.ClientCertFile;
            ClientKeyFile = setup.ClientKeyFile;
            Protocol = setup.Protocol;
            Policy = setup.Policy;
            TimeoutNs = setup.TimeoutNs;
        }

        /// <summary>
        /// Returns the body of a step's request where it is made before the run and is not seeded; null if
        /// there is none.
        /// </summary>
        public byte[] Body(Step step)
        {
            if (step.Kind == "call")
                return Encoding.UTF8.GetBytes(step.Body);
            if (step.Kind != "fetch" || step.Payload == null)
                return null;
            return payloads.TryGetValue(step.Payload, out var payload)
                ? payload : throw new FailedException("setup has no payload " + step.Payload);
        }

        /// <summary>Returns the headers of a step's request.</summary>
        public IEnumerable<KeyValuePair<string, string>> Headers(Step step)
        {
            yield return Header("x-commute-id", step.Id.ToString());
            if (step.Kind == "call")
                yield return Header("content-type", "application/json");
            else if (step.Kind == "put")
                yield return Header("content-type", "application/octet-stream");
            else if (step.Kind == "fetch")
                foreach (var field in step.Fields)
                    yield return field;
            else if (step.Kind == "exchange")
            {
                yield return Header("content-type", Messages.ContentType);
                yield return Header("accept-encoding", Messages.ContentEncoding ?? "identity");
                if (Messages.ContentEncoding != null)
                    yield return Header("content-encoding", Messages.ContentEncoding);
            }
        }

        /// <summary>Returns a header.</summary>
        public static KeyValuePair<string, string> Header(string name, string value) => new KeyValuePair<string, string>(name, value);

        static int Frames(string observe)
        {
            const string Prefix = "frame:";
            if (observe.StartsWith(Prefix, StringComparison.Ordinal)
                && int.TryParse(observe.Substring(Prefix.Length), out var hz) && hz >= 1 && hz <= 1000)
                return hz;
            throw new UnsupportedException("observe " + observe, "expected frame:HZ with HZ from 1 to 1000");
        }

        static void Reject(string what, bool isSet, string reason)
        {
            if (isSet)
                throw new UnsupportedException(what, reason);
        }

        static string ExistingFile(string path)
        {
            if (path != null && !File.Exists(path))
                throw new FailedException("there is no file " + path);
            return path;
        }
    }

    /// <summary>One step of a run. Fields that its kind does not have are 0 or null.</summary>
    sealed class Step
    {
        public readonly long Id, Group;
        public readonly string Kind, Body, Mode, Message, MessageKind, Payload;
        /// <summary>The header fields of a <c>fetch</c>.</summary>
        public readonly Dictionary<string, string> Fields;
        readonly string method, path;
        public readonly long Bytes, PauseNs;
        public readonly long? After, AtNs, CancelAfterNs;
        /// <summary>
        /// The step that the limit on the start counts from, 0 for the start of the run, and how long
        /// after it the limit is; null if the step is never too late.
        /// </summary>
        public readonly long? UntilAfter, UntilNs;

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
                case "fetch":
                    method = json.Text("method");
                    path = json.Text("path");
                    Payload = json.TextOrNull("payload");
                    Fields = json.Files("headers");
                    break;
                case "pause": PauseNs = json.Number("ns"); break;
                case "reconnect": Mode = json.Text("mode"); break;
                case "stream": throw new UnsupportedException("step stream", "these stacks do not stream messages");
                default: throw new UnsupportedException("step " + Kind, "unknown to this driver");
            }
            CancelAfterNs = json.NumberOrNull("cancel_after_ns");
            if (json["until"] is JObject until)
            {
                UntilAfter = until.Number("after");
                UntilNs = until.Number("ns");
            }
            if (!(json["start"] is JObject start))
                return;
            After = start.NumberOrNull("after");
            AtNs = start.NumberOrNull("at_ns");
            if (After == null && AtNs == null)
                throw new UnsupportedException("start " + start.ToString(Formatting.None), "unknown to this driver");
        }

        /// <summary>Makes a download.</summary>
        public static Step Get(long id, long bytes) => new Step(new JObject
        {
            ["id"] = id, ["group"] = 1, ["step"] = "get", ["bytes"] = bytes,
        });

        public string Method => method ?? (Kind == "get" ? "GET" : Kind == "put" ? "PUT" : "POST");

        /// <summary>Path and query.</summary>
        public string Path =>
            path ?? (Kind == "call" ? "/echo" : Kind == "put" ? "/upload" : Kind == "get" ? "/bytes/" + Bytes : "/exchange/" + MessageKind);

        public bool IsCall => Kind == "call" || Kind == "get" || Kind == "put" || Kind == "exchange" || Kind == "fetch";
    }

    /// <summary>
    /// What the driver saw of one call. A null time means that it did not happen or was not seen.
    /// </summary>
    sealed class Row
    {
        const int MaxDetail = 1000;

        public long Id, Connection, StartNs, EndNs, RequestBytes;
        public long? LocalPort, DnsNs, ConnectNs, TlsNs, CreatedNs, EncodedNs, SignedNs, RequestSentNs, FirstByteNs, ReceivedNs, Status;
        public string Protocol, ErrorKind, ErrorDetail;
        public bool Reused, Resumed, EarlyData;
        public int Attempts;

        /// <summary>Sets the call's error.</summary>
        public void Fail(string kind, string detail)
        {
            ErrorKind = kind;
            ErrorDetail = detail.Length > MaxDetail ? detail.Substring(0, MaxDetail) : detail;
        }

        public JObject ToJson(ResponseBody response)
        {
            var row = new JObject { ["type"] = "row", ["id"] = Id, ["connection"] = Connection };
            Add(row, "local_port", LocalPort);
            row["start_ns"] = StartNs;
            Add(row, "dns_ns", DnsNs);
            Add(row, "connect_ns", ConnectNs);
            Add(row, "tls_ns", TlsNs);
            Add(row, "created_ns", CreatedNs);
            Add(row, "encoded_ns", EncodedNs);
            Add(row, "signed_ns", SignedNs);
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
