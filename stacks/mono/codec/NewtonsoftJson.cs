// JSON by Newtonsoft.Json, called as its authors advise for speed: from stream to stream, one
// serializer for all.

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
        const int DeepestNesting = 64;

        static readonly UTF8Encoding Utf8 = new UTF8Encoding(false, true);

        public override string Name => "json";
        public override string Library => "Newtonsoft.Json";

        public override string LibraryVersion =>
            typeof(JsonSerializer).Assembly.GetCustomAttribute<AssemblyFileVersionAttribute>().Version;

        public override string Caveat =>
            "numbers whose shortest form has 8 digits (float) or 16 (double) are printed with 9 or 17, as Mono's R format does; -0 becomes 0";

        public override Coder For(Type kind)
        {
            var serializer = JsonSerializer.Create(new JsonSerializerSettings
            {
                ContractResolver = new StrictContracts(),
                DateParseHandling = DateParseHandling.None,
                CheckAdditionalContent = true,
                MaxDepth = DeepestNesting,
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
                return serializer.Deserialize(json, kind) ?? throw new InvalidDataException("no message but null");
        }

        /// Newtonsoft.Json reads "12", 12.7 and true as numbers where a number belongs; a
        /// converter for each type of leaf has it refuse them. Writing is the library's own.
        sealed class StrictContracts : DefaultContractResolver
        {
            protected override JsonConverter ResolveContractConverter(Type type) =>
                StrictLeaf.For(type) ?? base.ResolveContractConverter(type);
        }
    }
}
