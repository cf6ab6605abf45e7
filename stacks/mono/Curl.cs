// The parts of libcurl's easy, multi and share interfaces that the driver uses, and two functions of
// its OpenSSL. driver.exe.config, written by install, maps `curl` and `ssl` to files.

using System;
using System.Runtime.InteropServices;

namespace Commute
{
    static class Curl
    {
        // Values from curl.h, as in the enums below.
        public const int Ok = 0, SocketTimeout = -1, ShareOption = 1, ShareTlsSessions = 4, EarlyData = 64;

        [DllImport("curl", EntryPoint = "curl_version")]
        static extern IntPtr VersionText();

        [DllImport("curl", EntryPoint = "curl_easy_strerror")]
        static extern IntPtr ErrorText(int code);

        [DllImport("curl", EntryPoint = "curl_easy_init")]
        public static extern IntPtr EasyInit();

        [DllImport("curl", EntryPoint = "curl_easy_cleanup")]
        public static extern void EasyCleanup(IntPtr easy);

        // The last argument of setters and getters is "...". The calling conventions of x86-64 and
        // AArch64 Linux pass an integer or a pointer there like any other argument.

        [DllImport("curl", EntryPoint = "curl_easy_setopt")]
        static extern int EasySet(IntPtr easy, int option, long value);

        [DllImport("curl", EntryPoint = "curl_easy_setopt")]
        static extern int EasySet(IntPtr easy, int option, string value);

        [DllImport("curl", EntryPoint = "curl_easy_setopt")]
        static extern int EasySet(IntPtr easy, int option, IntPtr value);

        [DllImport("curl", EntryPoint = "curl_easy_setopt")]
        static extern int EasySet(IntPtr easy, int option, DataCallback value);

        [DllImport("curl", EntryPoint = "curl_easy_getinfo")]
        static extern int EasyGet(IntPtr easy, int info, out long value);

        [DllImport("curl", EntryPoint = "curl_slist_append")]
        public static extern IntPtr ListAppend(IntPtr list, string text);

        [DllImport("curl", EntryPoint = "curl_slist_free_all")]
        public static extern void ListFree(IntPtr list);

        [DllImport("curl", EntryPoint = "curl_share_init")]
        public static extern IntPtr ShareInit();

        [DllImport("curl", EntryPoint = "curl_share_cleanup")]
        public static extern int ShareCleanup(IntPtr share);

        [DllImport("curl", EntryPoint = "curl_share_setopt")]
        public static extern int ShareSet(IntPtr share, int option, int value);

        [DllImport("curl", EntryPoint = "curl_multi_init")]
        public static extern IntPtr MultiInit();

        [DllImport("curl", EntryPoint = "curl_multi_cleanup")]
        public static extern int MultiCleanup(IntPtr multi);

        [DllImport("curl", EntryPoint = "curl_multi_add_handle")]
        public static extern int MultiAdd(IntPtr multi, IntPtr easy);

        [DllImport("curl", EntryPoint = "curl_multi_remove_handle")]
        public static extern int MultiRemove(IntPtr multi, IntPtr easy);

        [DllImport("curl", EntryPoint = "curl_multi_perform")]
        public static extern int MultiPerform(IntPtr multi, out int running);

        [DllImport("curl", EntryPoint = "curl_multi_socket_action")]
        public static extern int MultiSocketAction(IntPtr multi, int socket, int events, out int running);

        [DllImport("curl", EntryPoint = "curl_multi_poll")]
        public static extern int MultiPoll(IntPtr multi, IntPtr extra, uint extras, int timeoutMs, out int ready);

        [DllImport("curl", EntryPoint = "curl_multi_wakeup")]
        public static extern int MultiWakeup(IntPtr multi);

        [DllImport("curl", EntryPoint = "curl_multi_info_read")]
        static extern IntPtr MultiInfoRead(IntPtr multi, out int left);

        [DllImport("ssl", EntryPoint = "SSL_session_reused")]
        static extern int SessionReused(IntPtr ssl);

        [DllImport("ssl", EntryPoint = "SSL_get_early_data_status")]
        static extern int EarlyDataStatus(IntPtr ssl);

        /// <summary>size_t (*)(char *bytes, size_t size, size_t count, void *data)</summary>
        public delegate UIntPtr DataCallback(IntPtr bytes, UIntPtr size, UIntPtr count, IntPtr data);

        struct Message
        {
            public int Kind;
            public IntPtr Easy;
            public int Result;
        }

        struct TlsPointer
        {
            public int Library;
            public IntPtr Ssl;
        }

        /// <summary>libcurl's version and those of its libraries.</summary>
        public static string Version => Marshal.PtrToStringAnsi(VersionText());

        public static string Error(int code) => Marshal.PtrToStringAnsi(ErrorText(code));

        public static void Set(IntPtr easy, Option option, long value) => Check(option, EasySet(easy, (int)option, value));

        public static void Set(IntPtr easy, Option option, string value) => Check(option, EasySet(easy, (int)option, value));

        public static void Set(IntPtr easy, Option option, IntPtr value) => Check(option, EasySet(easy, (int)option, value));

        /// <summary>Sets a callback, which the caller must keep alive.</summary>
        public static void Set(IntPtr easy, Option option, DataCallback value) => Check(option, EasySet(easy, (int)option, value));

        public static long Get(IntPtr easy, Info info) =>
            EasyGet(easy, (int)info, out var value) == Ok ? value : throw new FailedException($"libcurl does not report {info}");

        /// <summary>
        /// Reads from OpenSSL whether the handshake of a transfer's connection resumed a session,
        /// and whether the server accepted early data. Must be called during the transfer.
        /// </summary>
        public static void HandshakeOutcome(IntPtr easy, out bool resumed, out bool earlyDataAccepted)
        {
            const int Accepted = 2;
            var ssl = Marshal.PtrToStructure<TlsPointer>((IntPtr)Get(easy, Info.TlsSslPtr)).Ssl;
            resumed = ssl != IntPtr.Zero && SessionReused(ssl) == 1;
            earlyDataAccepted = ssl != IntPtr.Zero && EarlyDataStatus(ssl) == Accepted;
        }

        /// <summary>Returns the next transfer that has ended; false if there is none.</summary>
        public static bool TryNextEnded(IntPtr multi, out IntPtr easy, out int result)
        {
            const int Done = 1;
            for (var at = MultiInfoRead(multi, out _); at != IntPtr.Zero; at = MultiInfoRead(multi, out _))
            {
                var message = Marshal.PtrToStructure<Message>(at);
                easy = message.Easy;
                result = message.Result;
                if (message.Kind == Done)
                    return true;
            }
            easy = IntPtr.Zero;
            result = Ok;
            return false;
        }

        static void Check(Option option, int code)
        {
            if (code != Ok)
                throw new UnsupportedException("option " + option, "libcurl: " + Error(code));
        }

        // Values from curl.h.

        public enum Option
        {
            Upload = 46, HttpVersion = 84, NoSignal = 99, Post = 47, SslOptions = 216, PipeWait = 237,
            WriteData = 10001, Url = 10002, Proxy = 10004, ReadData = 10009, PostFields = 10015, HttpHeader = 10023,
            SslCert = 10025, HeaderData = 10029, CustomRequest = 10036, CaInfo = 10065, SslKey = 10087, Share = 10100,
            WriteFunction = 20011, ReadFunction = 20012, HeaderFunction = 20079,
            InFileSizeLarge = 30115, PostFieldSizeLarge = 30120,
        }

        public enum Info
        {
            ResponseCode = 0x200002, NumConnects = 0x20001a, LocalPort = 0x20002a, HttpVersion = 0x20002e,
            TlsSslPtr = 0x40002d,
            SizeUploadT = 0x600007, TotalTimeT = 0x600032, NameLookupTimeT = 0x600033, ConnectTimeT = 0x600034,
            StartTransferTimeT = 0x600036, AppConnectTimeT = 0x600038, ConnId = 0x600040,
            PostTransferTimeT = 0x600043, EarlyDataSentT = 0x600044,
        }
    }
}
