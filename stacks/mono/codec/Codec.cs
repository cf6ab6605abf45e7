// The runner's interface to a codec. Each library has a file that implements it.

using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;

namespace Commute.Bench
{
    /// <summary>One library's implementation of a codec.</summary>
    abstract class Codec
    {
        /// <summary>The name in docs/codec-runner.md.</summary>
        public abstract string Name { get; }

        /// <summary>The library, and how it is called if there are several ways.</summary>
        public abstract string Library { get; }

        public abstract string LibraryVersion { get; }

        /// <summary>
        /// The parts of the work that the codec has: at least <c>encode</c> and <c>decode</c>.
        /// </summary>
        public virtual string[] Parts => new[] { "encode", "decode" };

        /// <summary>What every result must say; usually null.</summary>
        public virtual string Caveat => null;

        /// <summary>Returns a coder for one kind of message.</summary>
        public abstract Coder For(Type kind);

        protected static string InformationalVersion(Assembly assembly) =>
            assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>().InformationalVersion;
    }

    /// <summary>
    /// One codec's parts for one kind of message, callable from any thread. They take and return
    /// <c>object</c>, so that the same loop can time all of them.
    /// </summary>
    sealed class Coder
    {
        /// <summary>Converts a plain object into the library's own.</summary>
        public Func<object, object> Populate = plain => plain;

        /// <summary>Encodes the library's own object.</summary>
        public Func<object, object> Encode;

        /// <summary>Decodes bytes into the library's own object.</summary>
        public Func<object, object> Decode;

        /// <summary>Converts the library's own object into a plain one.</summary>
        public Func<object, object> Convert = own => own;
    }

    /// <summary>Does nothing, which shows the cost of the harness.</summary>
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

    /// <summary>The codecs that this program has.</summary>
    static class Codecs
    {
        static readonly Codec[] Uncompressed =
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

        /// <summary>All codecs, including the compressed ones.</summary>
        public static readonly List<Codec> All = Uncompressed
            .Concat(Uncompressed.Where(codec => codec.Name == "json" || codec.Name == "protobuf").Select(codec => new Gzip(codec)))
            .ToList();

        /// <summary>Returns the codec of that name and library.</summary>
        public static Codec Find(string name, string library) =>
            All.FirstOrDefault(codec => codec.Name == name && codec.Library == library)
                ?? throw new UnsupportedException("codec " + name, "this runner does not have it with library " + library);
    }
}
