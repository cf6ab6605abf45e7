using System;
using System.Collections.Generic;
using System.Net;

namespace Commute.Client
{
    /// <summary>How requests are routed.</summary>
    public enum RoutePolicy
    {
        /// <summary>By what was learnt.</summary>
        Adaptive = 0,
        /// <summary>By races alone.</summary>
        Race = 1,
        /// <summary>HTTP/3 only.</summary>
        Http3 = 2,
        /// <summary>TCP only: HTTP/2 or HTTP/1.1.</summary>
        Tcp = 3,
        /// <summary>HTTP/1.1 only.</summary>
        Http11 = 4,
    }

    /// <summary>What metrics compare.</summary>
    public enum MetricsArms
    {
        /// <summary>HTTP/3, HTTP/2 and HTTP/1.1: which is faster?</summary>
        Protocols = 0,
        /// <summary>Installations with HTTP/3 on and those with HTTP/3 off: was the roll-out a gain?</summary>
        Rollout = 1,
    }

    /// <summary>What a network is, for metrics; nothing is decided by it.</summary>
    public enum NetworkKind
    {
        /// <summary>Not known, or none of the others.</summary>
        Other = 0,
        /// <summary>Wi-Fi.</summary>
        Wifi = 1,
        /// <summary>2G to 5G.</summary>
        Cellular = 2,
        /// <summary>A cable.</summary>
        Ethernet = 3,
    }

    /// <summary>What an engine is made of.</summary>
    public sealed class EngineOptions
    {
        /// <summary>How requests are routed.</summary>
        public RoutePolicy Policy;
        /// <summary>URLs whose origins support HTTP/3.</summary>
        public readonly List<string> H3Hints = new List<string>();
        /// <summary>
        /// Folder for what is learnt, e.g. below <c>Application.persistentDataPath</c>; null: it is forgotten
        /// when the engine is closed.
        /// </summary>
        public string MemoryFolder;
        /// <summary>Authorities whose certificates are accepted, as PEM; null: those that Mozilla trusts.</summary>
        public byte[] RootsPem;
        /// <summary>
        /// Decides about certificate chains instead of any authorities: DER, the server's first, and the host
        /// name. Asked in every handshake, with the chain of the session if one is resumed. Called on the thread that hands
        /// events on, so no other event of the engine is handled meanwhile. It must not wait for a request of the same
        /// engine; <c>Disconnect</c> and <c>Save</c> throw there. Refused unless it returns within 10 s.
        /// </summary>
        public Func<byte[][], string, bool> CheckChain;
        /// <summary>
        /// Whether GET, HEAD and OPTIONS requests without a body may be sent before the handshake is done (0-RTT).
        /// That needs a session that is resumed over QUIC. An attacker on the path may replay such a request (RFC
        /// 8470). Has no effect with <c>CheckChain</c>, which is asked after the handshake.
        /// </summary>
        public bool EarlyData;
        /// <summary>The client's certificate chain as PEM, its own first; null: none is shown.</summary>
        public byte[] IdentityChainPem;
        /// <summary>Its key, as PEM.</summary>
        public byte[] IdentityKeyPem;
        /// <summary>Addresses for names that are not asked for.</summary>
        public readonly List<KeyValuePair<string, IPAddress>> Addresses = new List<KeyValuePair<string, IPAddress>>();
    }
}
