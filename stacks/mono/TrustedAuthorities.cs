using System.Net.Security;
using System.Security.Cryptography.X509Certificates;

namespace Commute
{
    /// <summary>Trusts the servers whose chain ends at one of the given authorities.</summary>
    sealed class TrustedAuthorities
    {
        public readonly X509Certificate2Collection Certificates;

        public TrustedAuthorities(string file)
        {
            Certificates = Commute.Certificates.Read(file);
        }

        /// <summary>
        /// Returns whether the server is trusted. BoringSSL has already checked chain, dates and
        /// name; but it also accepts the authorities in Mono's own stores, which this rejects.
        /// </summary>
        public bool Trusts(X509Chain chain, SslPolicyErrors errors)
        {
            var elements = chain.ChainElements;
            return errors == SslPolicyErrors.None && elements.Count > 0
                && Certificates.Contains(elements[elements.Count - 1].Certificate);
        }
    }
}
