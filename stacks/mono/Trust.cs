using System.Net.Security;
using System.Security.Cryptography.X509Certificates;

namespace Commute
{
    /// Which servers are believed: those whose chain ends at one of the authorities given.
    sealed class Trust
    {
        public readonly X509Certificate2Collection Authorities;

        public Trust(string file)
        {
            Authorities = Certificates.Read(file);
        }

        /// BoringSSL has checked chain, dates and name and found these errors. It takes the
        /// authorities of Mono's own stores too: those have no say here.
        public bool Believes(X509Chain chain, SslPolicyErrors errors)
        {
            var certificates = chain.ChainElements;
            return errors == SslPolicyErrors.None && certificates.Count > 0
                && Authorities.Contains(certificates[certificates.Count - 1].Certificate);
        }
    }
}
