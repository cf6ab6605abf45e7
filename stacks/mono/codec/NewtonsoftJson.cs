// JSON with Newtonsoft.Json, called as its authors recommend for speed: from stream to stream, with
// one serializer per kind of message.

using System;
using System.IO;
using System.Reflection;
using System.Text;
using Newtonsoft.Json;
using Newtonsoft.Json.Serialization;

namespace Commute.Bench
{
    sealed class NewtonsoftJson : Codec
    {
        const int MaxNesting = 64;

        static readonly UTF8Encoding Utf8 = new UTF8Encoding(false, true);

        public override string Name => "json";
        public override string Library => "Newtonsoft.Json";

        public override string LibraryVersion =>
            typeof(JsonSerializer).Assembly.GetCustomAttribute<AssemblyFileVersionAttribute>().Version;

        public override string Caveat =>
            "numbers whose shortest form has 8 digits (float) or 16 (double) are written with 9 or 17, as by Mono's R format; -0 becomes 0";

        public override Coder For(Type kind)
        {
            var serializer = JsonSerializer.Create(new JsonSerializerSettings
            {
                ContractResolver = new StrictContracts(),
                DateParseHandling = DateParseHandling.None,
                CheckAdditionalContent = true,
                MaxDepth = MaxNesting,
            });
            return new Coder
            {
                Encode = message => Encode(serializer, message),
                Decode = bytes => Decode(serializer, (byte[])bytes, kind),
            };
        }

        static byte[] Encode(JsonSerializer serializer, object message)
        {
            var bytes = new MemoryStream();
            using (var text = new StreamWriter(bytes, Utf8))
                serializer.Serialize(text, message);
            return bytes.ToArray();
        }

        static object Decode(JsonSerializer serializer, byte[] bytes, Type kind)
        {
            using (var json = new JsonTextReader(new StreamReader(new MemoryStream(bytes), Utf8)))
                return serializer.Deserialize(json, kind) ?? throw new InvalidDataException("null instead of a message");
        }

        /// <summary>
        /// Makes the library reject "12", 12.7 and true for integers, with a converter for each
        /// scalar type. Writing is unchanged.
        /// </summary>
        sealed class StrictContracts : DefaultContractResolver
        {
            protected override JsonConverter ResolveContractConverter(Type type) =>
                StrictLeafConverter.For(type) ?? base.ResolveContractConverter(type);
        }
    }
}
