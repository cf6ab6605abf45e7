using System;
using System.Collections.Generic;
using System.Numerics;
using Newtonsoft.Json;

namespace Commute.Bench
{
    /// Takes one type of leaf from JSON values of its own type only.
    sealed class StrictLeaf : JsonConverter
    {
        static readonly Dictionary<Type, StrictLeaf> Leaves = new Dictionary<Type, StrictLeaf>
        {
            [typeof(int)] = new StrictLeaf(json => checked((int)Integer(json))),
            [typeof(long)] = new StrictLeaf(json => Integer(json)),
            [typeof(ulong)] = new StrictLeaf(json => json.Value is BigInteger big ? (ulong)big : checked((ulong)Integer(json))),
            [typeof(float)] = new StrictLeaf(json => Finite((float)Number(json))),
            [typeof(double)] = new StrictLeaf(json => Number(json)),
            [typeof(bool)] = new StrictLeaf(json => json.TokenType == JsonToken.Boolean ? json.Value : throw Unfit(json)),
            [typeof(string)] = new StrictLeaf(json => json.TokenType == JsonToken.String ? json.Value : throw Unfit(json)),
        };

        readonly Func<JsonReader, object> read;

        StrictLeaf(Func<JsonReader, object> read)
        {
            this.read = read;
        }

        /// Null if the type is no leaf, or one that the library is strict about by itself.
        public static StrictLeaf For(Type type) => Leaves.TryGetValue(type, out var leaf) ? leaf : null;

        public override bool CanWrite => false;

        public override bool CanConvert(Type type) => true;

        public override object ReadJson(JsonReader json, Type type, object existing, JsonSerializer serializer) =>
            json.TokenType == JsonToken.Null && Nullable.GetUnderlyingType(type) != null ? null : read(json);

        public override void WriteJson(JsonWriter json, object value, JsonSerializer serializer) =>
            throw new NotSupportedException();

        static long Integer(JsonReader json) => json.Value is long number ? number : throw Unfit(json);

        static double Number(JsonReader json) =>
            json.Value is double number ? Finite(number) : Integer(json);

        /// JSON has no other numbers, though the library reads NaN and Infinity.
        static double Finite(double number) =>
            double.IsNaN(number) || double.IsInfinity(number) ? throw new JsonReaderException("no finite number") : number;

        static float Finite(float number) =>
            float.IsInfinity(number) ? throw new JsonReaderException("too large for a float") : number;

        static JsonException Unfit(JsonReader json) =>
            new JsonReaderException($"{json.Path} may not be a JSON {json.TokenType}");
    }
}
