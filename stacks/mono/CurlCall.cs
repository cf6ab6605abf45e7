using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;

namespace Commute
{
    /// <summary>
    /// One transfer: prepared before the run, started during it, and read when libcurl is done with
    /// it.
    /// </summary>
    sealed class CurlCall : Call
    {
        /// <summary>Protocols by CURLINFO_HTTP_VERSION.</summary>
        static readonly Dictionary<long, string> Protocols = new Dictionary<long, string>
        {
            [1] = "h1", [2] = "h1", [3] = "h2", [30] = "h3",
        };

        // Static, so that they outlive every transfer.
        static readonly Curl.DataCallback OnHeader = Header, OnWrite = Write, OnRead = Read;

        readonly CurlSession session;
        readonly IntPtr easy = Curl.EasyInit();
        readonly byte[] upload;
        IntPtr headers;
        byte[] body;
        readonly GCHandle self;
        IntPtr requestBody;
        int uploaded;
        CurlConnections connections;
        Action ended;
        long addedNs, firstHeaderNs;
        bool resumed, earlyDataAccepted;

        public CurlCall(CurlSession session, Step step, bool earlyData) : base(session, step)
        {
            this.session = session;
            self = GCHandle.Alloc(this);
            var setup = session.Setup;
            AddHeaders(setup.Headers(step));
            if (setup.Body(step) is byte[] bytes)
                SetBody(bytes);
            else if (step.Kind == "put")
            {
                upload = Seeded.AtLeast(step.Bytes);
                Curl.Set(easy, Curl.Option.Upload, 1);
                Curl.Set(easy, Curl.Option.InFileSizeLarge, step.Bytes);
                Curl.Set(easy, Curl.Option.ReadFunction, OnRead);
                Curl.Set(easy, Curl.Option.ReadData, GCHandle.ToIntPtr(self));
            }
            if (step.Kind == "fetch" && step.Method != "GET")
                Curl.Set(easy, Curl.Option.CustomRequest, step.Method);
            Curl.Set(easy, Curl.Option.Url, new Uri(setup.Url, step.Path).AbsoluteUri);
            Curl.Set(easy, Curl.Option.HttpVersion, CurlSession.Versions[setup.Protocol]);
            Curl.Set(easy, Curl.Option.PipeWait, setup.Protocol == "h1" ? 0 : 1);
            Curl.Set(easy, Curl.Option.CaInfo, setup.CaFile);
            if (setup.ClientCertFile != null)
            {
                Curl.Set(easy, Curl.Option.SslCert, setup.ClientCertFile);
                Curl.Set(easy, Curl.Option.SslKey, setup.ClientKeyFile);
            }
            Curl.Set(easy, Curl.Option.SslOptions, earlyData ? Curl.EarlyData : 0);
            Curl.Set(easy, Curl.Option.Proxy, "");
            Curl.Set(easy, Curl.Option.NoSignal, 1);
            Curl.Set(easy, Curl.Option.HeaderFunction, OnHeader);
            Curl.Set(easy, Curl.Option.HeaderData, GCHandle.ToIntPtr(self));
            Curl.Set(easy, Curl.Option.WriteFunction, OnWrite);
            Curl.Set(easy, Curl.Option.WriteData, GCHandle.ToIntPtr(self));
        }

        void AddHeaders(IEnumerable<KeyValuePair<string, string>> added)
        {
            foreach (var header in added)
                headers = Curl.ListAppend(headers, header.Key + ": " + header.Value);
        }

        public override void Start(Action ended)
        {
            this.ended = ended;
            session.Dispatch(() =>
            {
                connections = session.Current;
                Curl.Set(easy, Curl.Option.Share, session.Share);
                Row.StartNs = Clock.NowNs();
                if (Exchange != null)
                    SetBody(Exchange.Encode(Row));
                if (session.Setup.Auth is Auth auth)
                    AddHeaders(auth.Prove(Row, Step, session.Setup.Url, upload ?? body, upload == null ? body?.Length ?? 0 : (int)Step.Bytes));
                Curl.Set(easy, Curl.Option.HttpHeader, headers);
                connections.Add(easy, this);
                addedNs = Clock.NowNs();
            });
        }

        public override void Abort(string kind) => session.Dispatch(() =>
        {
            if (Row.EndNs == 0)
                End(0, kind);
        });

        /// <summary>
        /// Ends the call when libcurl is done with the transfer, or with <c>abortKind</c> before
        /// that. Runs on the session's thread.
        /// </summary>
        public void End(int result, string abortKind = null)
        {
            ReadCounters();
            if (abortKind != null)
            {
                Row.EndNs = Clock.NowNs();
                Row.Fail(abortKind, "the transfer was removed from libcurl's multi handle");
            }
            else if (result != Curl.Ok)
                Row.Fail(ClassifyError(result), Curl.Error(result));
            else if (Row.Status >= 400)
                Row.Fail("status", "status " + Row.Status);
            else if (Exchange != null)
            {
                Row.ReceivedNs = Row.EndNs;
                Exchange.Decode(Response.ToArray(), Row);
            }
            connections.Remove(easy);
            Curl.EasyCleanup(easy);
            Curl.ListFree(headers);
            Marshal.FreeHGlobal(requestBody);
            self.Free();
            ended();
        }

        /// <summary>
        /// A call without a response learns from others on its connection whether the handshake
        /// resumed.
        /// </summary>
        public override void Finish()
        {
            base.Finish();
            Row.Resumed = connections.Resumed.Contains(Row.Connection);
        }

        void SetBody(byte[] bytes)
        {
            body = bytes;
            requestBody = Marshal.AllocHGlobal(body.Length);
            Marshal.Copy(body, 0, requestBody, body.Length);
            Curl.Set(easy, Curl.Option.Post, 1);
            Curl.Set(easy, Curl.Option.PostFieldSizeLarge, body.Length);
            Curl.Set(easy, Curl.Option.PostFields, requestBody);
        }

        /// <summary>Fills the row from libcurl's counters, which exist until the cleanup.</summary>
        void ReadCounters()
        {
            var totalNs = Get(Curl.Info.TotalTimeT) * 1000;
            // The counters started before the transfer was added, and no phase ended after we saw it
            // end. The earliest of these bounds is a few µs late, so no phase seems to end too early.
            var baseNs = Math.Min(addedNs, Clock.NowNs() - totalNs);
            if (firstHeaderNs > 0)
                baseNs = Math.Min(baseNs, firstHeaderNs - Get(Curl.Info.StartTransferTimeT) * 1000);
            Func<Curl.Info, long?> at = counter => Get(counter) > 0 ? baseNs + Get(counter) * 1000 : (long?)null;

            var status = Get(Curl.Info.ResponseCode);
            var opener = Get(Curl.Info.NumConnects) > 0;
            var handshake = Get(Curl.Info.AppConnectTimeT) > 0 || status > 0;
            var id = Get(Curl.Info.ConnId);
            var port = Get(Curl.Info.LocalPort);
            // Attempts to connect have an id too, but a failed one is not a connection.
            var connected = id >= 0 && port > 0 && (handshake || !opener);
            if (connected)
            {
                Row.Connection = session.AssignNumber(connections, id);
                Row.LocalPort = port;
                Row.Reused = !opener;
                // libcurl counts early data as sent even if the server rejected it.
                var early = Get(Curl.Info.EarlyDataSentT) != 0;
                Row.EarlyData = early && earlyDataAccepted;
                Row.Attempts = early && !earlyDataAccepted ? 2 : 1;
                // libcurl does not record when the request was sent the second time.
                Row.RequestSentNs = Row.Attempts == 1 ? at(Curl.Info.PostTransferTimeT) : null;
                Row.RequestBytes = Get(Curl.Info.SizeUploadT);
                if (resumed)
                    connections.Resumed.Add(Row.Connection);
            }
            if (opener)
            {
                Row.DnsNs = session.AddressGiven ? null : at(Curl.Info.NameLookupTimeT);
                Row.ConnectNs = session.Setup.Protocol == "h3" ? null : at(Curl.Info.ConnectTimeT);
                Row.TlsNs = at(Curl.Info.AppConnectTimeT);
            }
            if (status > 0)
            {
                Row.Status = status;
                Row.FirstByteNs = at(Curl.Info.StartTransferTimeT);
            }
            Row.Protocol = Protocols.TryGetValue(Get(Curl.Info.HttpVersion), out var protocol) ? protocol : null;
            Row.EndNs = baseNs + totalNs;
        }

        long Get(Curl.Info info) => Curl.Get(easy, info);

        /// <summary>Called with each header line, shortly after the first byte.</summary>
        static UIntPtr Header(IntPtr bytes, UIntPtr size, UIntPtr count, IntPtr data)
        {
            var call = (CurlCall)GCHandle.FromIntPtr(data).Target;
            if (call.firstHeaderNs == 0)
            {
                call.firstHeaderNs = Clock.NowNs();
                Curl.HandshakeOutcome(call.easy, out call.resumed, out call.earlyDataAccepted);
            }
            return (UIntPtr)((ulong)size * (ulong)count);
        }

        static UIntPtr Write(IntPtr bytes, UIntPtr size, UIntPtr count, IntPtr data)
        {
            var response = ((CurlCall)GCHandle.FromIntPtr(data).Target).Response;
            var remaining = (int)size * (int)count;
            while (remaining > 0)
            {
                var buffer = response.GetBuffer();
                var copied = Math.Min(remaining, buffer.Count);
                Marshal.Copy(bytes, buffer.Array, buffer.Offset, copied);
                response.Advance(copied);
                bytes += copied;
                remaining -= copied;
            }
            return (UIntPtr)((ulong)size * (ulong)count);
        }

        static UIntPtr Read(IntPtr buffer, UIntPtr size, UIntPtr count, IntPtr data)
        {
            var call = (CurlCall)GCHandle.FromIntPtr(data).Target;
            var copied = (int)Math.Min((long)size * (long)count, call.Step.Bytes - call.uploaded);
            Marshal.Copy(call.upload, call.uploaded, buffer, copied);
            call.uploaded += copied;
            return (UIntPtr)copied;
        }

        /// <summary>Maps a CURLE_* code to one of the protocol's error kinds.</summary>
        string ClassifyError(int result)
        {
            switch (result)
            {
                case 6: return "dns";
                case 7: return "connect";
                case 35: case 58: case 59: case 60: case 77: case 83: case 98: return "tls";
                case 18: case 52: case 55: case 56: return Row.Connection > 0 ? "reset" : "connect";
                case 1: case 8: case 16: case 61: case 92: case 95: return "protocol";
                default: return "other";
            }
        }
    }
}
