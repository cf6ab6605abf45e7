using System;
using System.Collections;
using System.Globalization;
using System.IO;
using System.Reflection;
using System.Text;

namespace Commute.Bench
{
    /// <summary>Reads a value file (docs/codec-runner.md) into a plain object.</summary>
    sealed class ValueReader
    {
        static readonly UTF8Encoding Utf8 = new UTF8Encoding(false, true);

        readonly TextReader lines;
        int line;

        ValueReader(TextReader lines)
        {
            this.lines = lines;
        }

        /// <summary>Returns the message in a file.</summary>
        public static object Read(string path, Type kind)
        {
            using (var file = new StreamReader(path, Utf8))
            {
                var reader = new ValueReader(file);
                try
                {
                    var message = reader.Value(kind) ?? throw new FormatException("not a message");
                    return file.ReadLine() == null ? message : throw new FormatException("trailing lines after the message");
                }
                catch (Exception error) when (error is FormatException || error is OverflowException || error is ArgumentException)
                {
                    throw new FailedException($"{path}, line {reader.line}: {error.Message}");
                }
            }
        }

        object Value(Type type)
        {
            var text = Line();
            if (Kinds.ElementOf(type) is Type element)
                return List(type, element, int.Parse(After("[ ", text), NumberStyles.None, CultureInfo.InvariantCulture));
            if (text == "z" && (type == typeof(int?) || Kinds.IsMessage(type)))
                return null;
            if (text == "{" && Kinds.IsMessage(type))
                return Message(type);
            if (type == typeof(int))
                return int.Parse(After("i ", text), CultureInfo.InvariantCulture);
            if (type == typeof(long))
                return long.Parse(After("i ", text), CultureInfo.InvariantCulture);
            if (type == typeof(ulong))
                return ulong.Parse(After("i ", text), CultureInfo.InvariantCulture);
            if (type == typeof(float))
                return BitConverter.ToSingle(BitConverter.GetBytes((int)Bits(After("f ", text), 8)), 0);
            if (type == typeof(double))
                return BitConverter.Int64BitsToDouble(Bits(After("d ", text), 16));
            if (type == typeof(bool))
                return After("b ", text) == "1";
            if (type == typeof(string))
                return Utf8.GetString(Hex(After("s ", text)));
            if (type == typeof(byte[]))
                return Hex(After("x ", text));
            throw new FormatException($"expected a {type.Name}, found `{text}`");
        }

        IList List(Type type, Type element, int count)
        {
            var list = (IList)Activator.CreateInstance(type);
            for (var i = 0; i < count; i++)
                list.Add(Value(element));
            return list;
        }

        object Message(Type type)
        {
            var message = Activator.CreateInstance(type);
            foreach (var field in Kinds.Fields(type))
                field.SetValue(message, Value(field.FieldType));
            return Line() == "}" ? message : throw new FormatException("expected the end of the message");
        }

        string Line()
        {
            line++;
            return lines.ReadLine() ?? throw new FormatException("the file is truncated");
        }

        static string After(string kind, string text) =>
            text.StartsWith(kind, StringComparison.Ordinal)
                ? text.Substring(kind.Length)
                : throw new FormatException($"expected `{kind}...`, found `{text}`");

        static long Bits(string hex, int digits) =>
            hex.Length == digits
                ? (long)ulong.Parse(hex, NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture)
                : throw new FormatException($"`{hex}` is not {digits} hex digits");

        static byte[] Hex(string text)
        {
            if (text.Length % 2 != 0)
                throw new FormatException("odd number of hex digits");
            var bytes = new byte[text.Length / 2];
            for (var i = 0; i < bytes.Length; i++)
                bytes[i] = (byte)(Digit(text[2 * i]) << 4 | Digit(text[2 * i + 1]));
            return bytes;
        }

        static int Digit(char c)
        {
            if (c >= '0' && c <= '9')
                return c - '0';
            if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
            throw new FormatException($"`{c}` is not a hex digit");
        }
    }
}
