// What the runner asks of a codec; one file implements it for each library.

using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;

namespace Commute.Bench
{
    abstract class Codec
    {
        /// As `docs/codec-runner.md` names it.
        public abstract string Name { get; }

        public abstract string Library { get; }

        public abstract string LibraryVersion { get; }

        /// `encode` and `decode` are in each.
        public virtual string[] Parts => new[] { "encode", "decode" };

        /// What every result must say; null as a rule.
        public virtual string Caveat => null;

        /// The library made ready for one kind of message.
        public abstract Coder For(Type kind);

        protected static string InformationalVersion(Assembly assembly) =>
            assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>().InformationalVersion;
    }

    /// One codec's parts for one kind of message. Each takes and gives what its name says, as
    /// `object` for the sake of the one loop that times them, in any thread.
    sealed class Coder
    {
        /// From the plain object to the library's own.
        public Func<object, object> Populate = plain => plain;

        /// From the library's own object to bytes.
        public Func<object, object> Encode;

        /// From bytes to the library's own object.
        public Func<object, object> Decode;

        /// From the library's own object to the plain one.
        public Func<object, object> Convert = own => own;
    }

    /// Nothing at all: what the harness adds to every other.
    sealed class Empty : Codec
    {
        public override string Name => "empty";
        public override string Library => "none";
        public override string LibraryVersion => "none";

        public override Coder For(Type kind)
        {
            object bytes = new byte[0], message = Activator.CreateInstance(kind);
            return new Coder { Encode = plain => bytes, Decode = encoded => message };
        }
    }

    static class Codecs
    {
        static readonly Codec[] Plain =
        {
            new Empty(),
            new NewtonsoftJson(),
#if PROTOBUF
            new GoogleProtobuf(),
#endif
            new MessagePack("msgpack", named: true, () => new Packer()),
            new MessagePack("msgpack-array", named: false, () => new Packer()),
            new MessagePack("msgpack-old", named: true, () => new OldPacker()),
        };

        public static readonly List<Codec> All = Plain
            .Concat(Plain.Where(codec => codec.Name == "json" || codec.Name == "protobuf").Select(codec => new Gzip(codec)))
            .ToList();

        public static Codec Find(string name, string library) =>
            All.FirstOrDefault(codec => codec.Name == name && codec.Library == library)
                ?? throw new Unsupported("codec " + name, "this runner has no such codec of " + library);
    }
}
