// MessagePack with commute's own packer and unpacker: Debian packages no C# library for it. Like
// MessagePack-CSharp, which Unity apps ship, it compiles the code for a type at run time.

using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Linq.Expressions;
using System.Reflection;
using System.Text;
using System.Threading;

namespace Commute.Bench
{
    sealed class MessagePack : Codec
    {
        readonly bool named;
        readonly Func<Packer> newPacker;

        public MessagePack(string name, bool named, Func<Packer> newPacker)
        {
            Name = name;
            this.named = named;
            this.newPacker = newPacker;
        }

        public override string Name { get; }
        public override string Library => "commute's own packer (Unity apps ship MessagePack-CSharp)";
        public override string LibraryVersion => "1";
        public override string Caveat => "measures commute's own code, not a library; Unity apps ship MessagePack-CSharp";

        public override Coder For(Type kind) =>
            (Coder)typeof(MessagePack).GetMethod(nameof(NewCoder), BindingFlags.NonPublic | BindingFlags.Instance)
                .MakeGenericMethod(kind).Invoke(this, null);

        Coder NewCoder<T>() where T : class
        {
            // Compiled by the first call that needs it. Each thread keeps a packer with its buffer.
            var packers = new ThreadLocal<Packer>(newPacker);
            var write = new Lazy<Action<Packer, T>>(() => (Action<Packer, T>)new WriterCompiler(named).For(typeof(T)));
            var read = new Lazy<Func<Unpacker, T>>(() => (Func<Unpacker, T>)new ReaderCompiler().For(typeof(T)));
            return new Coder
            {
                Encode = message =>
                {
                    var packer = packers.Value;
                    packer.Clear();
                    write.Value(packer, (T)message);
                    return packer.ToArray();
                },
                Decode = bytes =>
                {
                    var unpacker = new Unpacker((byte[])bytes);
                    var message = read.Value(unpacker);
                    if (message == null)
                        throw new InvalidDataException("nil instead of a message");
                    return unpacker.AtEnd ? message : throw new InvalidDataException("trailing bytes after the message");
                },
            };
        }
    }

    /// <summary>Compiles, for each type, a method that writes one field after the other.</summary>
    sealed class WriterCompiler
    {
        readonly bool named;
        readonly Dictionary<Type, Delegate> compiled = new Dictionary<Type, Delegate>();

        public WriterCompiler(bool named)
        {
            this.named = named;
        }

        /// <summary>Returns an <c>Action&lt;Packer, T&gt;</c>.</summary>
        public Delegate For(Type type)
        {
            if (!compiled.TryGetValue(type, out var writer))
                compiled[type] = writer = Compile(type);
            return writer;
        }

        Delegate Compile(Type type)
        {
            var packer = Expression.Parameter(typeof(Packer));
            var value = Expression.Parameter(type);
            var body = Kinds.IsMessage(type) ? WriteMessage(packer, value) : WriteValue(packer, value);
            return Expression.Lambda(typeof(Action<,>).MakeGenericType(typeof(Packer), type), body, packer, value).Compile();
        }

        Expression WriteMessage(Expression packer, Expression message)
        {
            var fields = Kinds.Fields(message.Type);
            var header = Expression.Call(packer, named ? nameof(Packer.MapHeader) : nameof(Packer.ArrayHeader), null, Expression.Constant(fields.Length));
            return Expression.IfThenElse(
                Expression.Equal(message, Expression.Constant(null)),
                Expression.Call(packer, nameof(Packer.Nil), null),
                Expression.Block(new Expression[] { header }.Concat(fields.SelectMany(field => WriteField(packer, message, field)))));
        }

        IEnumerable<Expression> WriteField(Expression packer, Expression message, FieldInfo field)
        {
            if (named)
                yield return Expression.Call(packer, nameof(Packer.Raw), null, Expression.Constant(PackName(field.Name)));
            yield return WriteValue(packer, Expression.Field(message, field));
        }

        Expression WriteValue(Expression packer, Expression value)
        {
            if (Kinds.ElementOf(value.Type) is Type element)
                return Expression.Call(typeof(WriterCompiler), nameof(WriteEach), new[] { element }, packer, value, Expression.Constant(For(element)));
            return Kinds.IsMessage(value.Type)
                ? (Expression)Expression.Invoke(Expression.Constant(For(value.Type)), packer, value)
                : Expression.Call(packer, typeof(Packer).GetMethod("Write", new[] { value.Type }), value);
        }

        static void WriteEach<T>(Packer packer, List<T> list, Action<Packer, T> write)
        {
            packer.ArrayHeader(list.Count);
            foreach (var element in list)
                write(packer, element);
        }

        static byte[] PackName(string name)
        {
            var packer = new Packer();
            packer.Write(name);
            return packer.ToArray();
        }
    }

    /// <summary>Compiles, for each type, a method that reads it, by field name or by position.</summary>
    sealed class ReaderCompiler
    {
        readonly Dictionary<Type, Delegate> compiled = new Dictionary<Type, Delegate>();

        /// <summary>Returns a <c>Func&lt;Unpacker, T&gt;</c>.</summary>
        public Delegate For(Type type)
        {
            if (!compiled.TryGetValue(type, out var reader))
                compiled[type] = reader = Compile(type);
            return reader;
        }

        Delegate Compile(Type type)
        {
            if (Kinds.IsMessage(type))
                return (Delegate)typeof(ReaderCompiler).GetMethod(nameof(MessageReader), BindingFlags.NonPublic | BindingFlags.Instance)
                    .MakeGenericMethod(type).Invoke(this, null);
            var unpacker = Expression.Parameter(typeof(Unpacker));
            return Expression.Lambda(ReadValue(unpacker, type), unpacker).Compile();
        }

        Func<Unpacker, T> MessageReader<T>() where T : class, new()
        {
            var names = Kinds.Fields(typeof(T)).Select(field => Encoding.UTF8.GetBytes(field.Name)).ToArray();
            var readField = FieldReader<T>();
            return unpacker =>
            {
                if (unpacker.TryNil())
                    return null;
                var message = new T();
                var count = unpacker.MessageHeader(out var named);
                for (var i = 0; i < count; i++)
                    readField(unpacker, message, named ? unpacker.FieldIndex(names, i) : i);
                return message;
            };
        }

        /// <summary>
        /// Compiles a method that reads the field with that index. An index without a field skips
        /// the value.
        /// </summary>
        Action<Unpacker, T, int> FieldReader<T>()
        {
            var unpacker = Expression.Parameter(typeof(Unpacker));
            var message = Expression.Parameter(typeof(T));
            var index = Expression.Parameter(typeof(int));
            var cases = Kinds.Fields(typeof(T)).Select((field, i) => Expression.SwitchCase(
                Expression.Block(typeof(void), Expression.Assign(Expression.Field(message, field), ReadValue(unpacker, field.FieldType))),
                Expression.Constant(i)));
            var body = Expression.Switch(index, Expression.Call(unpacker, nameof(Unpacker.Skip), null), cases.ToArray());
            return Expression.Lambda<Action<Unpacker, T, int>>(body, unpacker, message, index).Compile();
        }

        Expression ReadValue(Expression unpacker, Type type)
        {
            if (Kinds.ElementOf(type) is Type element)
                return Expression.Call(typeof(ReaderCompiler), nameof(ReadEach), new[] { element }, unpacker, Expression.Constant(For(element)));
            return Kinds.IsMessage(type)
                ? (Expression)Expression.Invoke(Expression.Constant(For(type)), unpacker)
                : Expression.Call(unpacker, ScalarReaders.Single(reader => reader.ReturnType == type));
        }

        /// <summary>Unpacker's methods that read a scalar, found by their return type.</summary>
        static readonly MethodInfo[] ScalarReaders =
            typeof(Unpacker).GetMethods().Where(method => method.Name.StartsWith("Read", StringComparison.Ordinal)).ToArray();

        static List<T> ReadEach<T>(Unpacker unpacker, Func<Unpacker, T> read)
        {
            var count = unpacker.ArrayHeader();
            var list = new List<T>(count);
            for (var i = 0; i < count; i++)
                list.Add(read(unpacker));
            return list;
        }
    }
}
