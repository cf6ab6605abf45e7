// MessagePack by a packer and an unpacker of our own, for lack of a C# library that can be had.

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
        public override string Library => "our own packer (no C# library at hand)";
        public override string LibraryVersion => "1";
        public override string Caveat => "our own code, not a library's: measures this code only";

        public override Coder For(Type kind) =>
            (Coder)typeof(MessagePack).GetMethod("NewCoder", BindingFlags.NonPublic | BindingFlags.Instance)
                .MakeGenericMethod(kind).Invoke(this, null);

        Coder NewCoder<T>() where T : class
        {
            // Compiled by the first call that needs it, in any thread; each keeps a buffer.
            var packers = new ThreadLocal<Packer>(newPacker);
            var write = new Lazy<Action<Packer, T>>(() => (Action<Packer, T>)new WriterMaker(named).For(typeof(T)));
            var read = new Lazy<Func<Unpacker, T>>(() => (Func<Unpacker, T>)new ReaderMaker().For(typeof(T)));
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
                        throw new InvalidDataException("no message but nil");
                    return unpacker.AtEnd ? message : throw new InvalidDataException("something follows the message");
                },
            };
        }
    }

    /// Compiles for each type what writes it, as the libraries for C# do at run time: a method
    /// that writes one field after the other.
    sealed class WriterMaker
    {
        readonly bool named;
        readonly Dictionary<Type, Delegate> made = new Dictionary<Type, Delegate>();

        public WriterMaker(bool named)
        {
            this.named = named;
        }

        /// An `Action<Packer, T>`.
        public Delegate For(Type type)
        {
            if (!made.TryGetValue(type, out var writer))
                made[type] = writer = Make(type);
            return writer;
        }

        Delegate Make(Type type)
        {
            var packer = Expression.Parameter(typeof(Packer));
            var value = Expression.Parameter(type);
            var body = Kinds.IsMessage(type) ? Message(packer, value) : Value(packer, value);
            return Expression.Lambda(typeof(Action<,>).MakeGenericType(typeof(Packer), type), body, packer, value).Compile();
        }

        Expression Message(Expression packer, Expression message)
        {
            var fields = Kinds.Fields(message.Type);
            var header = Expression.Call(packer, named ? "Map" : "Array", null, Expression.Constant(fields.Length));
            return Expression.IfThenElse(
                Expression.Equal(message, Expression.Constant(null)),
                Expression.Call(packer, "Nil", null),
                Expression.Block(new Expression[] { header }.Concat(fields.SelectMany(field => Field(packer, message, field)))));
        }

        IEnumerable<Expression> Field(Expression packer, Expression message, FieldInfo field)
        {
            if (named)
                yield return Expression.Call(packer, "Raw", null, Expression.Constant(Packed(field.Name)));
            yield return Value(packer, Expression.Field(message, field));
        }

        Expression Value(Expression packer, Expression value)
        {
            if (Kinds.ElementOf(value.Type) is Type element)
                return Expression.Call(typeof(WriterMaker), "Each", new[] { element }, packer, value, Expression.Constant(For(element)));
            return Kinds.IsMessage(value.Type)
                ? (Expression)Expression.Invoke(Expression.Constant(For(value.Type)), packer, value)
                : Expression.Call(packer, typeof(Packer).GetMethod("Write", new[] { value.Type }), value);
        }

        static void Each<T>(Packer packer, List<T> list, Action<Packer, T> write)
        {
            packer.Array(list.Count);
            foreach (var element in list)
                write(packer, element);
        }

        static byte[] Packed(string name)
        {
            var packer = new Packer();
            packer.Write(name);
            return packer.ToArray();
        }
    }

    /// Compiles for each type what reads it, from names or by position.
    sealed class ReaderMaker
    {
        readonly Dictionary<Type, Delegate> made = new Dictionary<Type, Delegate>();

        /// A `Func<Unpacker, T>`.
        public Delegate For(Type type)
        {
            if (!made.TryGetValue(type, out var reader))
                made[type] = reader = Make(type);
            return reader;
        }

        Delegate Make(Type type)
        {
            if (Kinds.IsMessage(type))
                return (Delegate)typeof(ReaderMaker).GetMethod("MessageReader", BindingFlags.NonPublic | BindingFlags.Instance)
                    .MakeGenericMethod(type).Invoke(this, null);
            var unpacker = Expression.Parameter(typeof(Unpacker));
            return Expression.Lambda(Value(unpacker, type), unpacker).Compile();
        }

        Func<Unpacker, T> MessageReader<T>() where T : class, new()
        {
            var names = Kinds.Fields(typeof(T)).Select(field => Encoding.UTF8.GetBytes(field.Name)).ToArray();
            var readField = FieldReader<T>();
            return unpacker =>
            {
                if (unpacker.Nil())
                    return null;
                var message = new T();
                var count = unpacker.Message(out var named);
                for (var i = 0; i < count; i++)
                    readField(unpacker, message, named ? unpacker.Name(names, i) : i);
                return message;
            };
        }

        /// Reads the field of this place; what has none is skipped.
        Action<Unpacker, T, int> FieldReader<T>()
        {
            var unpacker = Expression.Parameter(typeof(Unpacker));
            var message = Expression.Parameter(typeof(T));
            var place = Expression.Parameter(typeof(int));
            var cases = Kinds.Fields(typeof(T)).Select((field, i) => Expression.SwitchCase(
                Expression.Block(typeof(void), Expression.Assign(Expression.Field(message, field), Value(unpacker, field.FieldType))),
                Expression.Constant(i)));
            var body = Expression.Switch(place, Expression.Call(unpacker, "Skip", null), cases.ToArray());
            return Expression.Lambda<Action<Unpacker, T, int>>(body, unpacker, message, place).Compile();
        }

        Expression Value(Expression unpacker, Type type)
        {
            if (Kinds.ElementOf(type) is Type element)
                return Expression.Call(typeof(ReaderMaker), "Each", new[] { element }, unpacker, Expression.Constant(For(element)));
            return Kinds.IsMessage(type)
                ? (Expression)Expression.Invoke(Expression.Constant(For(type)), unpacker)
                : Expression.Call(unpacker, Leaves.Single(leaf => leaf.ReturnType == type));
        }

        static readonly MethodInfo[] Leaves =
            typeof(Unpacker).GetMethods().Where(method => method.Name.StartsWith("Read", StringComparison.Ordinal)).ToArray();

        static List<T> Each<T>(Unpacker unpacker, Func<Unpacker, T> read)
        {
            var count = unpacker.Array();
            var list = new List<T>(count);
            for (var i = 0; i < count; i++)
                list.Add(read(unpacker));
            return list;
        }
    }
}
