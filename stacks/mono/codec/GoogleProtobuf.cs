// Protobuf with Google.Protobuf and the classes that protoc generates.

using System;
using System.Collections.Generic;
using System.IO;
using Google.Protobuf;

namespace Commute.Bench
{
    sealed class GoogleProtobuf : Codec
    {
        static readonly Dictionary<Type, Func<Coder>> Coders = new Dictionary<Type, Func<Coder>>
        {
            [typeof(Small)] = () => NewCoder<Small, V1.Small>(V1.Small.Parser, Populate.From, Plain.From),
            [typeof(AddressBook)] = () => NewCoder<AddressBook, V1.AddressBook>(V1.AddressBook.Parser, Populate.From, Plain.From),
            [typeof(Newsfeed)] = () => NewCoder<Newsfeed, V1.Newsfeed>(V1.Newsfeed.Parser, Populate.From, Plain.From),
            [typeof(Large)] = () => NewCoder<Large, V1.Large>(V1.Large.Parser, Populate.From, Plain.From),
            [typeof(Diag)] = () => NewCoder<Diag, V1.Diag>(V1.Diag.Parser, Populate.From, Plain.From),
            [typeof(Big)] = () => NewCoder<Big, V1.Big>(V1.Big.Parser, Populate.From, Plain.From),
            [typeof(PerlData)] = () => NewCoder<PerlData, V1.PerlData>(V1.PerlData.Parser, Populate.From, Plain.From),
            [typeof(ApiPage)] = () => NewCoder<ApiPage, V1.ApiPage>(V1.ApiPage.Parser, Populate.From, Plain.From),
            [typeof(Echo)] = () => NewCoder<Echo, V1.Echo>(V1.Echo.Parser, Populate.From, Plain.From),
        };

        public override string Name => "protobuf";
        public override string Library => "Google.Protobuf, built from Debian's sources";
        public override string Caveat => "Unity apps ship the NuGet package";
        public override string LibraryVersion => InformationalVersion(typeof(IMessage).Assembly);
        public override string[] Parts => new[] { "populate", "encode", "decode", "convert" };

        public override Coder For(Type kind) => Coders[kind]();

        static Coder NewCoder<TPlain, TOwn>(MessageParser<TOwn> parser, Func<TPlain, TOwn> populate, Func<TOwn, TPlain> convert)
            where TPlain : class where TOwn : class, IMessage<TOwn> => new Coder
        {
            Populate = plain => populate((TPlain)plain),
            Encode = own => ((TOwn)own).ToByteArray(),
            Decode = bytes => parser.ParseFrom((byte[])bytes),
            Convert = own => convert((TOwn)own),
        };
    }
}
