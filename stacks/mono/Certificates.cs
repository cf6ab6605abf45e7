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
    /// PEM files, which Mono's class library does not read.
    static class Certificates
    {
        public static X509Certificate2Collection Read(string file)
        {
            var certificates = new X509Certificate2Collection();
            foreach (var der in Pem(file, "CERTIFICATE"))
                certificates.Add(new X509Certificate2(der));
            return certificates;
        }

        /// By way of a PKCS #12 in memory, the only form in which Mono takes a key with its certificate.
        public static X509Certificate2 WithKey(string certificateFile, string keyFile)
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
            return parts.Length > 0 ? parts : throw new Failed($"no {label} in {file}");
        }
    }
}
