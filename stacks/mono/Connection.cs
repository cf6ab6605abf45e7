using System;
using System.Net;
using System.Net.Sockets;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace Commute
{
    /// The connection a request uses. HttpWebRequest tells nobody; its private fields do.
    sealed class Connection
    {
        const BindingFlags Instance = BindingFlags.Instance | BindingFlags.NonPublic | BindingFlags.Public;

        static readonly FieldInfo Operation = Private(typeof(HttpWebRequest).GetField("currentOperation", Instance));
        static readonly PropertyInfo Transport = Private(Operation.FieldType.GetProperty("Connection", Instance));
        static readonly FieldInfo SocketOf = Private(Transport.PropertyType.GetField("socket", Instance));
        static readonly FieldInfo StreamOf = Private(Transport.PropertyType.GetField("networkStream", Instance));

        /// Of Mono's connection objects, which outlive their sockets.
        static readonly ConditionalWeakTable<object, Connection> Latest = new ConditionalWeakTable<object, Connection>();

        public readonly int LocalPort;
        public int Number;

        Connection(Socket socket)
        {
            LocalPort = ((IPEndPoint)socket.LocalEndPoint).Port;
        }

        /// Fails if there are no such fields.
        public static void Look()
        {
            try
            {
                RuntimeHelpers.RunClassConstructor(typeof(Connection).TypeHandle);
            }
            catch (TypeInitializationException error)
            {
                throw error.InnerException;
            }
        }

        /// To be called in the handshake of the request that opens a connection.
        public static Connection Opened(HttpWebRequest request)
        {
            var transport = TransportOf(request);
            var connection = new Connection((Socket)SocketOf.GetValue(transport));
            Latest.Remove(transport);
            Latest.Add(transport, connection);
            return connection;
        }

        /// The connection the request was given, perhaps closed since; null if it had none.
        public static Connection Of(HttpWebRequest request)
        {
            var transport = TransportOf(request);
            return transport != null && Latest.TryGetValue(transport, out var connection) ? connection : null;
        }

        /// Whether the request has a connection whose handshake is done.
        public static bool IsOpen(HttpWebRequest request)
        {
            var transport = TransportOf(request);
            return transport != null && StreamOf.GetValue(transport) != null;
        }

        static object TransportOf(HttpWebRequest request)
        {
            var operation = Operation.GetValue(request);
            return operation == null ? null : Transport.GetValue(operation);
        }

        static T Private<T>(T member) where T : MemberInfo =>
            member ?? throw new Failed("this Mono's HttpWebRequest is built in another way than 6.8's");
    }
}
