using System;
using System.Net;
using System.Net.Sockets;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace Commute
{
    /// <summary>
    /// The connection that a request uses, read from HttpWebRequest's private fields because there
    /// is no public way.
    /// </summary>
    sealed class Connection
    {
        const BindingFlags Instance = BindingFlags.Instance | BindingFlags.NonPublic | BindingFlags.Public;

        static readonly FieldInfo Operation = Require(typeof(HttpWebRequest).GetField("currentOperation", Instance));
        static readonly PropertyInfo Transport = Require(Operation.FieldType.GetProperty("Connection", Instance));
        static readonly FieldInfo SocketOf = Require(Transport.PropertyType.GetField("socket", Instance));
        static readonly FieldInfo StreamOf = Require(Transport.PropertyType.GetField("networkStream", Instance));

        /// <summary>
        /// The latest connection of each of Mono's connection objects, which outlive their sockets.
        /// </summary>
        static readonly ConditionalWeakTable<object, Connection> Latest = new ConditionalWeakTable<object, Connection>();

        public readonly int LocalPort;
        readonly Socket socket;
        /// <summary>Counts from 1 within a session; 0 until assigned.</summary>
        public int Number;

        Connection(Socket socket)
        {
            this.socket = socket;
            LocalPort = ((IPEndPoint)socket.LocalEndPoint).Port;
        }

        /// <summary>Throws if this Mono does not have these fields.</summary>
        public static void CheckFields()
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

        /// <summary>
        /// Creates the connection that the request opens. Must be called during the handshake.
        /// </summary>
        public static Connection Create(HttpWebRequest request)
        {
            var transport = TransportOf(request);
            var connection = new Connection((Socket)SocketOf.GetValue(transport));
            Latest.Remove(transport);
            Latest.Add(transport, connection);
            return connection;
        }

        /// <summary>
        /// Creates the connection that the request opened without TLS; null if an earlier one opened it.
        /// Must be called before the response's body has been read.
        /// </summary>
        public static Connection CreateIfNew(HttpWebRequest request) =>
            Of(request)?.socket == SocketOf.GetValue(TransportOf(request)) ? null : Create(request);

        /// <summary>
        /// Returns the connection that the request was given, which may be closed by now, or null.
        /// </summary>
        public static Connection Of(HttpWebRequest request)
        {
            var transport = TransportOf(request);
            return transport != null && Latest.TryGetValue(transport, out var connection) ? connection : null;
        }

        /// <summary>Returns whether the request has a connection whose handshake is done.</summary>
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

        static T Require<T>(T member) where T : MemberInfo =>
            member ?? throw new FailedException("HttpWebRequest of this Mono differs from that of Mono 6.8");
    }
}
