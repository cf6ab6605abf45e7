using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;

namespace Commute.Bench
{
    /// The kinds of message that are asked for by name.
    static class Kinds
    {
        static readonly Type[] All =
        {
            typeof(Small), typeof(AddressBook), typeof(Newsfeed), typeof(Large), typeof(Diag), typeof(Big),
            typeof(PerlData), typeof(ApiPage), typeof(Echo),
        };

        public static Type Find(string name) =>
            All.FirstOrDefault(kind => kind.Name == name)
                ?? throw new Unsupported("message " + name, "no such kind of message is known here");

        /// A message of any kind, those inside others too.
        public static bool IsMessage(Type type) => type.Namespace == typeof(Kinds).Namespace;

        /// In the order of their numbers, which is that of their declaration.
        public static FieldInfo[] Fields(Type kind) =>
            kind.GetFields(BindingFlags.Public | BindingFlags.Instance).OrderBy(field => field.MetadataToken).ToArray();

        /// What a list has; null if the type is no list.
        public static Type ElementOf(Type type) =>
            type.IsGenericType && type.GetGenericTypeDefinition() == typeof(List<>) ? type.GetGenericArguments()[0] : null;
    }
}
