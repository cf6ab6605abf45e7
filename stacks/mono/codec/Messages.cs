// The messages of the bench (crates/lab/messages/proto/commute/bench/v1) as an app would have them: public
// fields, named as in JSON, in the order of their numbers, free of any codec. Absent fields are null.

using System.Collections.Generic;

namespace Commute.Bench
{
    sealed class Small
    {
        public string name;
    }

    sealed class AddressBook
    {
        public List<Person> people;
    }

    sealed class Person
    {
        public string name;
        public int id;
        public string email;
        public List<PhoneNumber> phones;
    }

    sealed class PhoneNumber
    {
        public string number;
        public int type;
    }

    sealed class Newsfeed
    {
        public List<Profile> profiles;
    }

    sealed class Profile
    {
        public int id;
        public string name;
        public string about;
        public bool gender;
        public List<Post> posts;
    }

    sealed class Post
    {
        public int owner;
        public string content;
        public List<Reaction> reactions;
        public List<Comment> comments;
    }

    sealed class Reaction
    {
        public int owner;
        public int type;
    }

    sealed class Comment
    {
        public int owner;
        public string text;
    }

    sealed class Large
    {
        public Attributes attributes;
        public List<Thing1> things;
    }

    sealed class Thing1
    {
        public Attributes attributes;
        public List<Thing2> things;
    }

    sealed class Thing2
    {
        public Attributes attributes;
        public int type;
        public List<Thing3> things;
    }

    sealed class Thing3
    {
        public Attributes attributes;
    }

    sealed class Attributes
    {
        public int int1, int2, int3;
        public float float1, float2, float3;
        public string string1, string2, string3;
        public bool bool1, bool2, bool3;
        public double double1, double2, double3;
    }

    sealed class Diag
    {
        public int canId;
        public DiagPayload payload;
    }

    sealed class DiagPayload
    {
        public byte[] body;
    }

    sealed class PerlData
    {
        public List<PerlRow> rows;
    }

    sealed class PerlRow
    {
        public int @int;
        public long @long;
        public double @float;
        public string @string;
        public bool @bool;
        public int? nil;
        public List<int> arr;
        public PerlMap map;
    }

    sealed class PerlMap
    {
        public int @int;
        public long @long;
        public double @float;
        public string @string;
        public bool @bool;
        public int? nil;
        public List<string> arr;
    }

    sealed class ApiPage
    {
        public string requestId;
        public long generatedAtMs;
        public int total;
        public string nextCursor;
        public List<ApiItem> items;
    }

    sealed class ApiItem
    {
        public long id;
        public string sku;
        public string title;
        public string description;
        public double price;
        public string currency;
        public int stock;
        public bool available;
        public long updatedAtMs;
        public List<string> tags;
        public ApiAuthor author;
        public List<ApiVariant> variants;
    }

    sealed class ApiAuthor
    {
        public long id;
        public string name;
        public string avatarUrl;
        public bool verified;
    }

    sealed class ApiVariant
    {
        public string name;
        public int stock;
        public double priceDelta;
    }

    sealed class Echo
    {
        public ulong start_ts;
        public string padding;
    }
}
