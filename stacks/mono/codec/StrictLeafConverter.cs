using System;
using System.Collections.Generic;
using System.Numerics;
using Newtonsoft.Json;

namespace Commute.Bench
{
    /// <summary>Reads one scalar type only from JSON values of that type.</summary>
    sealed class StrictLeafConverter : JsonConverter
    {
        static readonly Dictionary<Type, StrictLeafConverter> Leaves = new Dictionary<Type, StrictLeafConverter>
        {
            [typeof(int)] = new StrictLeafConverter(json => checked((int)Integer(json))),
            [typeof(long)] = new StrictLeafConverter(json => Integer(json)),
            [typeof(ulong)] = new StrictLeafConverter(json => json.Value is BigInteger big ? (ulong)big : checked((ulong)Integer(json))),
            [typeof(float)] = new StrictLeafConverter(json => Finite((float)Number(json))),
            [typeof(double)] = new StrictLeafConverter(json => Number(json)),
            [typeof(bool)] = new StrictLeafConverter(json => json.TokenType == JsonToken.Boolean ? json.Value : throw WrongType(json)),
            [typeof(string)] = new StrictLeafConverter(json => json.TokenType == JsonToken.String ? json.Value : throw WrongType(json)),
        };

        readonly Func<JsonReader, object> read;

        StrictLeafConverter(Func<JsonReader, object> read)
        {
            this.read = read;
        }

        /// <summary>
        /// Returns the converter for a type; null if it is not a scalar, or the library itself is
        /// strict about it.
        /// </summary>
        public static StrictLeafConverter For(Type type) => Leaves.TryGetValue(type, out var leaf) ? leaf : null;

        public override bool CanWrite => false;

        public override bool CanConvert(Type type) => true;

        public override object ReadJson(JsonReader json, Type type, object existing, JsonSerializer serializer) =>
            json.TokenType == JsonToken.Null && Nullable.GetUnderlyingType(type) != null ? null : read(json);

        public override void WriteJson(JsonWriter json, object value, JsonSerializer serializer) =>
            throw new NotSupportedException();

        static long Integer(JsonReader json) => json.Value is long number ? number : throw WrongType(json);

        static double Number(JsonReader json) =>
            json.Value is double number ? Finite(number) : Integer(json);

        /// <summary>
        /// Rejects NaN and Infinity, which the library reads although JSON has no such numbers.
        /// </summary>
        static double Finite(double number) =>
            double.IsNaN(number) || double.IsInfinity(number) ? throw new JsonReaderException("not a finite number") : number;

        static float Finite(float number) =>
            float.IsInfinity(number) ? throw new JsonReaderException("too large for a float") : number;

        static JsonException WrongType(JsonReader json) =>
            new JsonReaderException($"{json.Path} must not be a JSON {json.TokenType}");
    }
}
