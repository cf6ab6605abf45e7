using System.Linq;

namespace Commute.Bench
{
    /// <summary>
    /// Makes plain objects from Protobuf's, by hand as in an app: Google.Protobuf has no such
    /// mapping.
    /// </summary>
    static class Plain
    {
        public static Small From(V1.Small own) => new Small { name = own.Name };

        public static AddressBook From(V1.AddressBook own) => new AddressBook { people = own.People.Select(From).ToList() };

        public static Person From(V1.Person own) => new Person
        {
            name = own.Name,
            id = own.Id,
            email = own.Email,
            phones = own.Phones.Select(From).ToList(),
        };

        public static PhoneNumber From(V1.PhoneNumber own) => new PhoneNumber
        {
            number = own.Number,
            type = own.Type,
        };

        public static Newsfeed From(V1.Newsfeed own) => new Newsfeed { profiles = own.Profiles.Select(From).ToList() };

        public static Profile From(V1.Profile own) => new Profile
        {
            id = own.Id,
            name = own.Name,
            about = own.About,
            gender = own.Gender,
            posts = own.Posts.Select(From).ToList(),
        };

        public static Post From(V1.Post own) => new Post
        {
            owner = own.Owner,
            content = own.Content,
            reactions = own.Reactions.Select(From).ToList(),
            comments = own.Comments.Select(From).ToList(),
        };

        public static Reaction From(V1.Reaction own) => new Reaction
        {
            owner = own.Owner,
            type = own.Type,
        };

        public static Comment From(V1.Comment own) => new Comment
        {
            owner = own.Owner,
            text = own.Text,
        };

        public static Large From(V1.Large own) => new Large
        {
            attributes = own.Attributes == null ? null : From(own.Attributes),
            things = own.Things.Select(From).ToList(),
        };

        public static Thing1 From(V1.Thing1 own) => new Thing1
        {
            attributes = own.Attributes == null ? null : From(own.Attributes),
            things = own.Things.Select(From).ToList(),
        };

        public static Thing2 From(V1.Thing2 own) => new Thing2
        {
            attributes = own.Attributes == null ? null : From(own.Attributes),
            type = own.Type,
            things = own.Things.Select(From).ToList(),
        };

        public static Thing3 From(V1.Thing3 own) => new Thing3 { attributes = own.Attributes == null ? null : From(own.Attributes) };

        public static Attributes From(V1.Attributes own) => new Attributes
        {
            int1 = own.Int1,
            int2 = own.Int2,
            int3 = own.Int3,
            float1 = own.Float1,
            float2 = own.Float2,
            float3 = own.Float3,
            string1 = own.String1,
            string2 = own.String2,
            string3 = own.String3,
            bool1 = own.Bool1,
            bool2 = own.Bool2,
            bool3 = own.Bool3,
            double1 = own.Double1,
            double2 = own.Double2,
            double3 = own.Double3,
        };

        public static Diag From(V1.Diag own) => new Diag
        {
            canId = own.CanId,
            payload = own.Payload == null ? null : From(own.Payload),
        };

        public static DiagPayload From(V1.DiagPayload own) => new DiagPayload { body = own.Body.ToByteArray() };

        public static Big From(V1.Big own) => new Big
        {
            id = own.Id,
            name = own.Name,
            @int = own.IntValue,
            @float = own.FloatValue,
            @bool = own.BoolValue,
            nil = own.HasNil ? (int?)own.Nil : null,
            str = own.Str,
            arr = own.Arr.ToList(),
            map = own.Map == null ? null : From(own.Map),
            intarr = own.IntArr.ToList(),
            strarr = own.StrArr.ToList(),
            boolarr = own.BoolArr.ToList(),
            maparr = own.MapArr.Select(From).ToList(),
        };

        public static BigRecord From(V1.BigRecord own) => new BigRecord
        {
            id = own.Id,
            name = own.Name,
            @int = own.IntValue,
            @float = own.FloatValue,
            @bool = own.BoolValue,
            nil = own.HasNil ? (int?)own.Nil : null,
            str = own.Str,
            arr = own.Arr.ToList(),
            map = own.Map == null ? null : From(own.Map),
        };

        public static BigMap From(V1.BigMap own) => new BigMap
        {
            foo = own.Foo,
            buzz = own.Buzz,
            piyo = own.Piyo,
        };

        public static PerlData From(V1.PerlData own) => new PerlData { rows = own.Rows.Select(From).ToList() };

        public static PerlRow From(V1.PerlRow own) => new PerlRow
        {
            @int = own.IntValue,
            @long = own.LongValue,
            @float = own.FloatValue,
            @string = own.StringValue,
            @bool = own.BoolValue,
            nil = own.HasNil ? (int?)own.Nil : null,
            arr = own.Arr.ToList(),
            map = own.Map == null ? null : From(own.Map),
        };

        public static PerlMap From(V1.PerlMap own) => new PerlMap
        {
            @int = own.IntValue,
            @long = own.LongValue,
            @float = own.FloatValue,
            @string = own.StringValue,
            @bool = own.BoolValue,
            nil = own.HasNil ? (int?)own.Nil : null,
            arr = own.Arr.ToList(),
        };

        public static ApiPage From(V1.ApiPage own) => new ApiPage
        {
            requestId = own.RequestId,
            generatedAtMs = own.GeneratedAtMs,
            total = own.Total,
            nextCursor = own.NextCursor,
            items = own.Items.Select(From).ToList(),
        };

        public static ApiItem From(V1.ApiItem own) => new ApiItem
        {
            id = own.Id,
            sku = own.Sku,
            title = own.Title,
            description = own.Description,
            price = own.Price,
            currency = own.Currency,
            stock = own.Stock,
            available = own.Available,
            updatedAtMs = own.UpdatedAtMs,
            tags = own.Tags.ToList(),
            author = own.Author == null ? null : From(own.Author),
            variants = own.Variants.Select(From).ToList(),
        };

        public static ApiAuthor From(V1.ApiAuthor own) => new ApiAuthor
        {
            id = own.Id,
            name = own.Name,
            avatarUrl = own.AvatarUrl,
            verified = own.Verified,
        };

        public static ApiVariant From(V1.ApiVariant own) => new ApiVariant
        {
            name = own.Name,
            stock = own.Stock,
            priceDelta = own.PriceDelta,
        };

        public static Echo From(V1.Echo own) => new Echo
        {
            start_ts = own.StartTs,
            padding = own.Padding,
        };
    }
}
