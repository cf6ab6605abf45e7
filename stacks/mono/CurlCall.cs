using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Text;

namespace Commute
{
    /// One transfer: made before the run, started in it, read when libcurl is done with it.
    sealed class CurlCall : Call
    {
        // Kept here, so that they outlive every transfer.
        static readonly Curl.Transfer OnHeader = Header, OnWrite = Write, OnRead = Read;

        readonly CurlSession session;
        readonly IntPtr easy = Curl.EasyInit();
        readonly IntPtr headers;
        readonly byte[] upload;
        readonly GCHandle self;
        IntPtr text;
        int uploaded;
        CurlConnections connections;
        Action ended;
        long lookedNs, headNs;
        bool resumed, earlyDataAccepted;

        public CurlCall(CurlSession session, Step step, bool earlyData) : base(session, step)
        {
            this.session = session;
            self = GCHandle.Alloc(this);
            var setup = session.Setup;
            foreach (var header in setup.Headers(step))
                headers = Curl.ListAppend(headers, header.Key + ": " + header.Value);
            if (step.Kind == "call")
                Post(Encoding.UTF8.GetBytes(step.Body));
            else if (step.Kind == "put")
            {
                upload = Seeded.AtLeast(step.Bytes);
                Curl.Set(easy, Curl.Option.Upload, 1);
                Curl.Set(easy, Curl.Option.InFileSizeLarge, step.Bytes);
                Curl.Set(easy, Curl.Option.ReadFunction, OnRead);
                Curl.Set(easy, Curl.Option.ReadData, GCHandle.ToIntPtr(self));
            }
            Curl.Set(easy, Curl.Option.Url, new Uri(setup.Url, step.Path).AbsoluteUri);
            Curl.Set(easy, Curl.Option.HttpHeader, headers);
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

        public override void Start(Action ended)
        {
            this.ended = ended;
            session.Ask(() =>
            {
                connections = session.Current;
                Curl.Set(easy, Curl.Option.Share, session.Share);
                Row.StartNs = Clock.NowNs();
                if (Exchange != null)
                    Post(Exchange.Encode(Row));
                connections.Add(easy, this);
                lookedNs = Clock.NowNs();
            });
        }

        public override void GiveUp(string kind) => session.Ask(() =>
        {
            if (Row.EndNs == 0)
                End(0, kind);
        });

        /// On the session's thread: libcurl is done with the transfer, or is to be.
        public void End(int result, string givenUp = null)
        {
            Fill();
            if (givenUp != null)
            {
                Row.EndNs = Clock.NowNs();
                Row.Fail(givenUp, "the transfer was removed from libcurl's multi handle");
            }
            else if (result != Curl.Ok)
                Row.Fail(Kind(result), Curl.Error(result));
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
            Marshal.FreeHGlobal(text);
            self.Free();
            ended();
        }

        /// A call without a response learns of the handshake from others on its connection.
        public override void Settle()
        {
            base.Settle();
            Row.Resumed = connections.Resumed.Contains(Row.Connection);
        }

        void Post(byte[] body)
        {
            text = Marshal.AllocHGlobal(body.Length);
            Marshal.Copy(body, 0, text, body.Length);
            Curl.Set(easy, Curl.Option.Post, 1);
            Curl.Set(easy, Curl.Option.PostFieldSizeLarge, body.Length);
            Curl.Set(easy, Curl.Option.PostFields, text);
        }

        /// Reads libcurl's counters while they are there.
        void Fill()
        {
            var totalNs = Get(Curl.Info.TotalTimeT) * 1000;
            // The counters started before libcurl had looked, and no phase ended after we saw it
            // ended. The earliest of these bounds is late by some µs: no phase ends before it did.
            var baseNs = Math.Min(lookedNs, Clock.NowNs() - totalNs);
            if (headNs > 0)
                baseNs = Math.Min(baseNs, headNs - Get(Curl.Info.StartTransferTimeT) * 1000);
            Func<Curl.Info, long?> at = counter => Get(counter) > 0 ? baseNs + Get(counter) * 1000 : (long?)null;

            var status = Get(Curl.Info.ResponseCode);
            var opener = Get(Curl.Info.NumConnects) > 0;
            var handshake = Get(Curl.Info.AppConnectTimeT) > 0 || status > 0;
            var id = Get(Curl.Info.ConnId);
            var port = Get(Curl.Info.LocalPort);
            // An attempt to connect has an id too; one that failed is no connection.
            var connected = id >= 0 && port > 0 && (handshake || !opener);
            if (connected)
            {
                Row.Connection = session.Number(connections, id);
                Row.LocalPort = port;
                Row.Reused = !opener;
                // libcurl counts early bytes as sent even if the server refused them.
                var early = Get(Curl.Info.EarlyDataSentT) != 0;
                Row.EarlyData = early && earlyDataAccepted;
                Row.Attempts = early && !earlyDataAccepted ? 2 : 1;
                // When it was sent for the second time, libcurl has not counted.
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
            Row.Protocol = Spoken.TryGetValue(Get(Curl.Info.HttpVersion), out var protocol) ? protocol : null;
            Row.EndNs = baseNs + totalNs;
        }

        long Get(Curl.Info info) => Curl.Get(easy, info);

        /// Called with each line of the head, soon after the first byte.
        static UIntPtr Header(IntPtr bytes, UIntPtr size, UIntPtr count, IntPtr data)
        {
            var call = (CurlCall)GCHandle.FromIntPtr(data).Target;
            if (call.headNs == 0)
            {
                call.headNs = Clock.NowNs();
                Curl.Handshake(call.easy, out call.resumed, out call.earlyDataAccepted);
            }
            return (UIntPtr)((ulong)size * (ulong)count);
        }

        static UIntPtr Write(IntPtr bytes, UIntPtr size, UIntPtr count, IntPtr data)
        {
            var response = ((CurlCall)GCHandle.FromIntPtr(data).Target).Response;
            var left = (int)size * (int)count;
            while (left > 0)
            {
                var room = response.Room();
                var taken = Math.Min(left, room.Count);
                Marshal.Copy(bytes, room.Array, room.Offset, taken);
                response.Took(taken);
                bytes += taken;
                left -= taken;
            }
            return (UIntPtr)((ulong)size * (ulong)count);
        }

        static UIntPtr Read(IntPtr buffer, UIntPtr size, UIntPtr count, IntPtr data)
        {
            var call = (CurlCall)GCHandle.FromIntPtr(data).Target;
            var given = (int)Math.Min((long)size * (long)count, call.Step.Bytes - call.uploaded);
            Marshal.Copy(call.upload, call.uploaded, buffer, given);
            call.uploaded += given;
            return (UIntPtr)given;
        }

        /// CURLINFO_HTTP_VERSION's values.
        static readonly Dictionary<long, string> Spoken = new Dictionary<long, string>
        {
            [1] = "h1", [2] = "h1", [3] = "h2", [30] = "h3",
        };

        /// CURLE_* in the protocol's words.
        string Kind(int result)
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
