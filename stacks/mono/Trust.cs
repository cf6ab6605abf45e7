using System;
using System.Collections.Generic;
using System.Linq;
using System.Net.Security;
using System.Security.Cryptography.X509Certificates;
using Mono.Security.X509.Extensions;
using MX = Mono.Security.X509;

namespace Commute
{
    /// Which servers are believed: those whose chain ends at one of the authorities given.
    sealed class Trust
    {
        public readonly X509Certificate2Collection Authorities;
        readonly bool namesakes;

        public Trust(string file)
        {
            Authorities = Certificates.Read(file);
            namesakes = Authorities.Cast<X509Certificate2>().GroupBy(authority => authority.Subject)
                .Any(group => group.Count() > 1);
        }

        /// `errors` is what BoringSSL found, with our authorities and whatever else Mono trusts.
        public bool Believes(string host, X509Chain chain, SslPolicyErrors errors)
        {
            var certificates = chain.ChainElements.Cast<X509ChainElement>()
                .Select(element => element.Certificate).ToList();
            if (certificates.Count == 0)
                return false;
            if (errors == SslPolicyErrors.None)
                return Authorities.Contains(certificates.Last());
            // Of authorities with the same name BoringSSL tries one only. The lab's have one
            // name when a warm-up's is among them; so try each, in managed code.
            return errors == SslPolicyErrors.RemoteCertificateChainErrors && namesakes
                && Names(certificates[0], host)
                && Authorities.Cast<X509Certificate2>().Any(authority => Vouches(authority, certificates));
        }

        static bool Names(X509Certificate2 leaf, string host)
        {
            var names = new MX.X509Certificate(leaf.RawData).Extensions["2.5.29.17"];
            return names != null
                && new SubjectAltNameExtension(names).DNSNames.Contains(host, StringComparer.OrdinalIgnoreCase);
        }

        /// Checks signatures, dates and that the intermediates are authorities.
        static bool Vouches(X509Certificate2 authority, IReadOnlyList<X509Certificate2> certificates)
        {
            var root = new MX.X509Certificate(authority.RawData);
            var intermediates = new MX.X509CertificateCollection();
            foreach (var certificate in certificates.Skip(1).Where(certificate => certificate.Subject != certificate.Issuer))
                intermediates.Add(new MX.X509Certificate(certificate.RawData));
            var chain = new MX.X509Chain(intermediates)
            {
                TrustAnchors = new MX.X509CertificateCollection { root },
            };
            // Build is content with a chain of strangers, whose root it then leaves out.
            return chain.Build(new MX.X509Certificate(certificates[0].RawData)) && root.Equals(chain.Root);
        }
    }
}
