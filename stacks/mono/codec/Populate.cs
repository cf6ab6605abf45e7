using System.Linq;
using Google.Protobuf;

namespace Commute.Bench
{
    /// <summary>
    /// Makes Protobuf's objects from plain ones, by hand as in an app: Google.Protobuf has no such
    /// mapping.
    /// </summary>
    static class Populate
    {
        public static V1.Small From(Small plain) => new V1.Small { Name = plain.name };

        public static V1.AddressBook From(AddressBook plain) => new V1.AddressBook { People = { plain.people.Select(From) } };

        public static V1.Person From(Person plain) => new V1.Person
        {
            Name = plain.name,
            Id = plain.id,
            Email = plain.email,
            Phones = { plain.phones.Select(From) },
        };

        public static V1.PhoneNumber From(PhoneNumber plain) => new V1.PhoneNumber
        {
            Number = plain.number,
            Type = plain.type,
        };

        public static V1.Newsfeed From(Newsfeed plain) => new V1.Newsfeed { Profiles = { plain.profiles.Select(From) } };

        public static V1.Profile From(Profile plain) => new V1.Profile
        {
            Id = plain.id,
            Name = plain.name,
            About = plain.about,
            Gender = plain.gender,
            Posts = { plain.posts.Select(From) },
        };

        public static V1.Post From(Post plain) => new V1.Post
        {
            Owner = plain.owner,
            Content = plain.content,
            Reactions = { plain.reactions.Select(From) },
            Comments = { plain.comments.Select(From) },
        };

        public static V1.Reaction From(Reaction plain) => new V1.Reaction
        {
            Owner = plain.owner,
            Type = plain.type,
        };

        public static V1.Comment From(Comment plain) => new V1.Comment
        {
            Owner = plain.owner,
            Text = plain.text,
        };

        public static V1.Large From(Large plain) => new V1.Large
        {
            Attributes = plain.attributes == null ? null : From(plain.attributes),
            Things = { plain.things.Select(From) },
        };

        public static V1.Thing1 From(Thing1 plain) => new V1.Thing1
        {
            Attributes = plain.attributes == null ? null : From(plain.attributes),
            Things = { plain.things.Select(From) },
        };

        public static V1.Thing2 From(Thing2 plain) => new V1.Thing2
        {
            Attributes = plain.attributes == null ? null : From(plain.attributes),
            Type = plain.type,
            Things = { plain.things.Select(From) },
        };

        public static V1.Thing3 From(Thing3 plain) => new V1.Thing3 { Attributes = plain.attributes == null ? null : From(plain.attributes) };

        public static V1.Attributes From(Attributes plain) => new V1.Attributes
        {
            Int1 = plain.int1,
            Int2 = plain.int2,
            Int3 = plain.int3,
            Float1 = plain.float1,
            Float2 = plain.float2,
            Float3 = plain.float3,
            String1 = plain.string1,
            String2 = plain.string2,
            String3 = plain.string3,
            Bool1 = plain.bool1,
            Bool2 = plain.bool2,
            Bool3 = plain.bool3,
            Double1 = plain.double1,
            Double2 = plain.double2,
            Double3 = plain.double3,
        };

        public static V1.Diag From(Diag plain) => new V1.Diag
        {
            CanId = plain.canId,
            Payload = plain.payload == null ? null : From(plain.payload),
        };

        public static V1.DiagPayload From(DiagPayload plain) => new V1.DiagPayload { Body = ByteString.CopyFrom(plain.body) };

        public static V1.Big From(Big plain)
        {
            var own = new V1.Big
            {
                Id = plain.id,
                Name = plain.name,
                IntValue = plain.@int,
                FloatValue = plain.@float,
                BoolValue = plain.@bool,
                Str = plain.str,
                Arr = { plain.arr },
                Map = plain.map == null ? null : From(plain.map),
                IntArr = { plain.intarr },
                StrArr = { plain.strarr },
                BoolArr = { plain.boolarr },
                MapArr = { plain.maparr.Select(From) },
            };
            if (plain.nil is int nil)
                own.Nil = nil;
            return own;
        }

        public static V1.BigRecord From(BigRecord plain)
        {
            var own = new V1.BigRecord
            {
                Id = plain.id,
                Name = plain.name,
                IntValue = plain.@int,
                FloatValue = plain.@float,
                BoolValue = plain.@bool,
                Str = plain.str,
                Arr = { plain.arr },
                Map = plain.map == null ? null : From(plain.map),
            };
            if (plain.nil is int nil)
                own.Nil = nil;
            return own;
        }

        public static V1.BigMap From(BigMap plain) => new V1.BigMap
        {
            Foo = plain.foo,
            Buzz = plain.buzz,
            Piyo = plain.piyo,
        };

        public static V1.PerlData From(PerlData plain) => new V1.PerlData { Rows = { plain.rows.Select(From) } };

        public static V1.PerlRow From(PerlRow plain)
        {
            var own = new V1.PerlRow
            {
                IntValue = plain.@int,
                LongValue = plain.@long,
                FloatValue = plain.@float,
                StringValue = plain.@string,
                BoolValue = plain.@bool,
                Arr = { plain.arr },
                Map = plain.map == null ? null : From(plain.map),
            };
            if (plain.nil is int nil)
                own.Nil = nil;
            return own;
        }

        public static V1.PerlMap From(PerlMap plain)
        {
            var own = new V1.PerlMap
            {
                IntValue = plain.@int,
                LongValue = plain.@long,
                FloatValue = plain.@float,
                StringValue = plain.@string,
                BoolValue = plain.@bool,
                Arr = { plain.arr },
            };
            if (plain.nil is int nil)
                own.Nil = nil;
            return own;
        }

        public static V1.ApiPage From(ApiPage plain) => new V1.ApiPage
        {
            RequestId = plain.requestId,
            GeneratedAtMs = plain.generatedAtMs,
            Total = plain.total,
            NextCursor = plain.nextCursor,
            Items = { plain.items.Select(From) },
        };

        public static V1.ApiItem From(ApiItem plain) => new V1.ApiItem
        {
            Id = plain.id,
            Sku = plain.sku,
            Title = plain.title,
            Description = plain.description,
            Price = plain.price,
            Currency = plain.currency,
            Stock = plain.stock,
            Available = plain.available,
            UpdatedAtMs = plain.updatedAtMs,
            Tags = { plain.tags },
            Author = plain.author == null ? null : From(plain.author),
            Variants = { plain.variants.Select(From) },
        };

        public static V1.ApiAuthor From(ApiAuthor plain) => new V1.ApiAuthor
        {
            Id = plain.id,
            Name = plain.name,
            AvatarUrl = plain.avatarUrl,
            Verified = plain.verified,
        };

        public static V1.ApiVariant From(ApiVariant plain) => new V1.ApiVariant
        {
            Name = plain.name,
            Stock = plain.stock,
            PriceDelta = plain.priceDelta,
        };

        public static V1.Echo From(Echo plain) => new V1.Echo
        {
            StartTs = plain.start_ts,
            Padding = plain.padding,
        };
    }
}
