using System;
using System.Collections.Generic;
using System.IO;
using System.Security.Cryptography;
using System.Text;
using Newtonsoft.Json.Linq;

namespace Commute
{
    /// <summary>
    /// How requests prove who sends them: with a bearer token, or with a signature by RFC 9421 and
    /// RFC 9530 (docs/driver-protocol.md).
    /// </summary>
    sealed class Auth
    {
        const int NonceBytes = 16;
        static readonly DateTime Epoch = new DateTime(1970, 1, 1, 0, 0, 0, DateTimeKind.Utc);

        readonly RandomNumberGenerator random = RandomNumberGenerator.Create();
        /// <summary>Null for requests that are signed.</summary>
        readonly string token;
        readonly string keyId;
        readonly byte[] secret;

        public Auth(JObject json)
        {
            var scheme = json.Text("scheme");
            switch (scheme)
            {
                case "jwt":
                    token = File.ReadAllText(json.Text("token_file")).Trim();
                    break;
                case "hmac":
                    keyId = json.Text("key_id");
                    secret = Convert.FromBase64String(File.ReadAllText(json.Text("key_file")).Trim());
                    break;
                default:
                    throw new UnsupportedException("auth " + scheme, "unknown to this driver");
            }
        }

        public Auth(string keyId, byte[] secret)
        {
            this.keyId = keyId;
            this.secret = secret;
        }

        /// <summary>
        /// Returns the headers that prove who sends a step's request, whose body is the first
        /// <c>length</c> bytes, and stamps the row if they are a signature.
        /// </summary>
        public List<KeyValuePair<string, string>> Prove(Row row, Step step, Uri origin, byte[] body, int length)
        {
            if (token != null)
                return new List<KeyValuePair<string, string>> { Setup.Header("authorization", "Bearer " + token) };
            var nonce = new byte[NonceBytes];
            random.GetBytes(nonce);
            var digest = ContentDigest(body ?? new byte[0], length);
            var createdS = (long)(DateTime.UtcNow - Epoch).TotalSeconds;
            var headers = Sign(step.Method, origin.Authority, step.Path, digest, createdS, nonce);
            row.SignedNs = Clock.NowNs();
            return headers;
        }

        public List<KeyValuePair<string, string>> Sign(
            string method, string authority, string path, string digest, long createdS, byte[] nonce)
        {
            var encodedNonce = Convert.ToBase64String(nonce).TrimEnd('=').Replace('+', '-').Replace('/', '_');
            var query = path.IndexOf('?');
            var parameters = "(\"@method\" \"@authority\" \"@path\" \"@query\" \"content-digest\")"
                + $";created={createdS};nonce=\"{encodedNonce}\";alg=\"hmac-sha256\";keyid=\"{keyId}\"";
            var signed = $"\"@method\": {method}\n\"@authority\": {authority.ToLowerInvariant()}\n\"@path\": {(query < 0 ? path : path.Substring(0, query))}\n"
                + $"\"@query\": {(query < 0 ? "?" : path.Substring(query))}\n\"content-digest\": {digest}\n\"@signature-params\": {parameters}";
            using (var hmac = new HMACSHA256(secret))
            {
                var code = Convert.ToBase64String(hmac.ComputeHash(Encoding.ASCII.GetBytes(signed)));
                return new List<KeyValuePair<string, string>>
                {
                    Setup.Header("content-digest", digest),
                    Setup.Header("signature-input", "commute=" + parameters),
                    Setup.Header("signature", $"commute=:{code}:"),
                };
            }
        }

        public static string ContentDigest(byte[] body, int length)
        {
            using (var sha256 = SHA256.Create())
                return "sha-256=:" + Convert.ToBase64String(sha256.ComputeHash(body, 0, length)) + ":";
        }
    }
}
