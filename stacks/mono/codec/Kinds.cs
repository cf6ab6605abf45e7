using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;

namespace Commute.Bench
{
    /// <summary>The kinds of message, and reflection on their fields.</summary>
    static class Kinds
    {
        static readonly Type[] All =
        {
            typeof(Small), typeof(AddressBook), typeof(Newsfeed), typeof(Large), typeof(Diag), typeof(Big),
            typeof(PerlData), typeof(ApiPage), typeof(Echo),
        };

        /// <summary>Returns the kind of that name.</summary>
        public static Type Find(string name) =>
            All.FirstOrDefault(kind => kind.Name == name)
                ?? throw new UnsupportedException("message " + name, "not in the schema");

        /// <summary>Returns whether the type is a message, including those inside others.</summary>
        public static bool IsMessage(Type type) => type.Namespace == typeof(Kinds).Namespace;

        /// <summary>
        /// Returns the fields in the order of their numbers, which is that of their declaration.
        /// </summary>
        public static FieldInfo[] Fields(Type kind) =>
            kind.GetFields(BindingFlags.Public | BindingFlags.Instance).OrderBy(field => field.MetadataToken).ToArray();

        /// <summary>Returns the type of a list's elements; null if the type is not a list.</summary>
        public static Type ElementOf(Type type) =>
            type.IsGenericType && type.GetGenericTypeDefinition() == typeof(List<>) ? type.GetGenericArguments()[0] : null;
    }
}
