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

        static readonly ConditionalWeakTable<Socket, Connection> Known = new ConditionalWeakTable<Socket, Connection>();
        /// Of Mono's connection objects, which outlive their sockets.
        static readonly ConditionalWeakTable<object, Connection> Latest = new ConditionalWeakTable<object, Connection>();

        public readonly int LocalPort;
        public int Number;

        Connection(Socket socket)
        {
            LocalPort = ((IPEndPoint)socket.LocalEndPoint).Port;
        }

        /// The request's connection, open or just closed; null if it has none.
        public static Connection Of(HttpWebRequest request)
        {
            var operation = Operation.GetValue(request);
            var transport = operation == null ? null : Transport.GetValue(operation);
            if (transport == null)
                return null;
            lock (transport)
            {
                Connection connection;
                if (SocketOf.GetValue(transport) is Socket socket && socket.Connected)
                {
                    connection = Known.GetValue(socket, key => new Connection(key));
                    Latest.Remove(transport);
                    Latest.Add(transport, connection);
                }
                else
                    Latest.TryGetValue(transport, out connection);
                return connection;
            }
        }

        static T Private<T>(T member) where T : MemberInfo =>
            member ?? throw new Failed("this Mono's HttpWebRequest is built in another way than 6.8's");
    }
}
