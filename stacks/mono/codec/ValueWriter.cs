using System;
using System.Collections;
using System.IO;
using System.Text;

namespace Commute.Bench
{
    /// <summary>Writes a plain object as a value file.</summary>
    sealed class ValueWriter
    {
        static readonly UTF8Encoding Utf8 = new UTF8Encoding(false, true);

        readonly StringBuilder text = new StringBuilder();

        ValueWriter()
        {
        }

        /// <summary>Returns the value file of a message; throws if a field is missing.</summary>
        public static string Write(object message)
        {
            var writer = new ValueWriter();
            writer.Value(message, message.GetType());
            return writer.text.ToString();
        }

        void Value(object value, Type type)
        {
            if (type == typeof(int?) && value != null)
                throw new InvalidDataException("the field that is never set is set");
            if (value == null && type != typeof(int?) && !Kinds.IsMessage(type))
                throw new InvalidDataException("a field is missing or null");
            if (value == null)
                Line("z");
            else if (value is IList list && Kinds.ElementOf(type) is Type element)
                List(list, element);
            else if (Kinds.IsMessage(type))
                Message(value, type);
            else
                Leaf(value);
        }

        void List(IList list, Type element)
        {
            Line("[ " + list.Count);
            foreach (var each in list)
                Value(each ?? throw new InvalidDataException("a list contains null"), element);
        }

        void Message(object message, Type type)
        {
            Line("{");
            foreach (var field in Kinds.Fields(type))
                Value(field.GetValue(message), field.FieldType);
            Line("}");
        }

        void Leaf(object value)
        {
            if (value is float real)
                Line("f " + BitConverter.ToInt32(BitConverter.GetBytes(real), 0).ToString("x8"));
            else if (value is double number)
                Line("d " + BitConverter.DoubleToInt64Bits(number).ToString("x16"));
            else if (value is bool flag)
                Line(flag ? "b 1" : "b 0");
            else if (value is string characters)
                Line("s ", Utf8.GetBytes(characters));
            else if (value is byte[] bytes)
                Line("x ", bytes);
            else
                Line("i " + value);
        }

        void Line(string line) => text.Append(line).Append('\n');

        void Line(string kind, byte[] bytes)
        {
            const string Digits = "0123456789abcdef";
            text.Append(kind);
            foreach (var b in bytes)
                text.Append(Digits[b >> 4]).Append(Digits[b & 15]);
            text.Append('\n');
        }
    }
}
