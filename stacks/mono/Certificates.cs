using System;
using System.Collections;
using System.IO;
using System.Linq;
using System.Security.Cryptography.X509Certificates;
using Mono.Security.X509;
using PKCS8 = Mono.Security.Cryptography.PKCS8;
using X509Certificate = Mono.Security.X509.X509Certificate;

namespace Commute
{
    /// <summary>Reads PEM files, which Mono's class library does not.</summary>
    static class Certificates
    {
        /// <summary>Reads all certificates in a file.</summary>
        public static X509Certificate2Collection Read(string file)
        {
            var certificates = new X509Certificate2Collection();
            foreach (var der in Pem(file, "CERTIFICATE"))
                certificates.Add(new X509Certificate2(der));
            return certificates;
        }

        /// <summary>
        /// Reads a certificate with its key. Goes through a PKCS #12 in memory, the only form in
        /// which Mono accepts both.
        /// </summary>
        public static X509Certificate2 ReadWithKey(string certificateFile, string keyFile)
        {
            var password = Guid.NewGuid().ToString();
            var store = new PKCS12 { Password = password };
            foreach (var der in Pem(certificateFile, "CERTIFICATE"))
                store.AddCertificate(new X509Certificate(der));
            var key = new PKCS8.PrivateKeyInfo(Pem(keyFile, "PRIVATE KEY")[0]);
            store.AddPkcs8ShroudedKeyBag(PKCS8.PrivateKeyInfo.DecodeRSA(key.PrivateKey));
            return new X509Certificate2(store.GetBytes(), password);
        }

        static byte[][] Pem(string file, string label)
        {
            var begin = $"-----BEGIN {label}-----";
            var parts = File.ReadAllText(file).Split(new[] { begin }, StringSplitOptions.None).Skip(1)
                .Select(part => Convert.FromBase64String(part.Substring(0, part.IndexOf("-----END", StringComparison.Ordinal))))
                .ToArray();
            return parts.Length > 0 ? parts : throw new FailedException($"{file} contains no {label}");
        }
    }
}
