// The C interface (bindings/c/commute.h), whose types are repeated here field by field.

using System;
using System.Runtime.InteropServices;

namespace Commute.Client
{
    [StructLayout(LayoutKind.Sequential)]
    struct NativeBytes
    {
        public IntPtr Pointer;
        public UIntPtr Length;
    }

    [StructLayout(LayoutKind.Sequential)]
    struct NativeField
    {
        public NativeBytes Name, Value;
    }

    [StructLayout(LayoutKind.Sequential)]
    struct NativeConfig
    {
        public uint Policy, Trust;
        public NativeBytes RootsPem, IdentityChainPem, IdentityKeyPem, MemoryFolder;
        public IntPtr H3Hints;
        public UIntPtr H3HintCount;
        public IntPtr Addresses;
        public UIntPtr AddressCount;
        public uint EarlyData, CheckChainMs;
    }

    [StructLayout(LayoutKind.Sequential)]
    struct NativeRequest
    {
        public NativeBytes Method, Url;
        public IntPtr Headers;
        public UIntPtr HeaderCount;
        public NativeBytes Body;
        public long StreamedBytes;
        public ulong ExpectBytes;
        public NativeBytes Label;
        public uint Flags, LimitMs, ConnectMs, FirstByteMs, IdleMs;
    }

    [StructLayout(LayoutKind.Sequential)]
    struct NativeEvent
    {
        public uint Kind;
        public int Status;
        public ulong Call, User, Number;
    }

    [StructLayout(LayoutKind.Sequential)]
    struct NativeNetwork
    {
        [MarshalAs(UnmanagedType.ByValArray, SizeConst = 16)]
        public byte[] Id;
        public uint Metered, Kind;
    }

    [StructLayout(LayoutKind.Sequential)]
    struct NativeSwitches
    {
        public uint Generation, Engine, H3Percent, Explore;
    }

    static class Native
    {
        public const uint AbiVersion = 4;

        public const uint Streamed = 1, Replayable = 2, Urgent = 4, EarlyData = 8, NoEarlyData = 16,
            NoResends = 32;
        public const uint Head = 1, Readable = 2, Writable = 3, Done = 4, CheckChain = 5;
        public const uint Headers = 1, Report = 3, Error = 4;
        public const uint TrustRoots = 1, TrustApp = 2;

#if UNITY_IOS && !UNITY_EDITOR
        const string Library = "__Internal";
#else
        const string Library = "commute_client";
#endif
        const CallingConvention C = CallingConvention.Cdecl;

        [DllImport(Library, CallingConvention = C)]
        public static extern uint cm_abi_version();

        [DllImport(Library, CallingConvention = C)]
        public static extern int cm_engine_new(
            ref NativeConfig config, out ulong engine, byte[] error, UIntPtr cap, out UIntPtr errorLength);

        [DllImport(Library, CallingConvention = C)]
        public static extern int cm_engine_close(ulong engine);

        [DllImport(Library, CallingConvention = C)]
        public static extern int cm_submit(ulong engine, ref NativeRequest request, ulong user, out ulong call);

        [DllImport(Library, CallingConvention = C)]
        public static extern int cm_connect(ulong engine, byte[] url, UIntPtr length, ulong user, out ulong call);

        [DllImport(Library, CallingConvention = C)]
        public static extern int cm_write(ulong engine, ulong call, ref byte bytes, UIntPtr length, out UIntPtr taken);

        [DllImport(Library, CallingConvention = C)]
        public static extern int cm_finish(ulong engine, ulong call);

        [DllImport(Library, CallingConvention = C)]
        public static extern int cm_read(ulong engine, ulong call, ref byte into, UIntPtr cap, out UIntPtr got);

        [DllImport(Library, CallingConvention = C)]
        public static extern int cm_get_text(
            ulong engine, ulong call, uint what, byte[] into, UIntPtr cap, out UIntPtr length);

        [DllImport(Library, CallingConvention = C)]
        public static extern int cm_cancel(ulong engine, ulong call);

        [DllImport(Library, CallingConvention = C)]
        public static extern int cm_release(ulong engine, ulong call);

        [DllImport(Library, CallingConvention = C)]
        public static extern int cm_wait(
            ulong engine, [Out] NativeEvent[] into, UIntPtr cap, int waitMs, out UIntPtr count);

        [DllImport(Library, CallingConvention = C)]
        public static extern int cm_get_chain(
            ulong engine, ulong number, UIntPtr part, byte[] into, UIntPtr cap, out UIntPtr length);

        [DllImport(Library, CallingConvention = C)]
        public static extern int cm_answer_chain(ulong engine, ulong number, uint accepted);

        [DllImport(Library, CallingConvention = C)]
        public static extern int cm_set_network(ulong engine, ref NativeNetwork network);

        [DllImport(Library, EntryPoint = "cm_set_network", CallingConvention = C)]
        public static extern int cm_set_no_network(ulong engine, IntPtr none);

        [DllImport(Library, CallingConvention = C)]
        public static extern int cm_save(ulong engine);

        [DllImport(Library, CallingConvention = C)]
        public static extern int cm_disconnect(ulong engine, uint forgetSessions);

        [DllImport(Library, CallingConvention = C)]
        public static extern int cm_close_idle(ulong engine);

        [DllImport(Library, CallingConvention = C)]
        public static extern int cm_https_record(
            ulong engine, byte[] url, UIntPtr urlLength, byte[] answer, UIntPtr answerLength);

        [DllImport(Library, CallingConvention = C)]
        public static extern int cm_set_switches(ulong engine, ref NativeSwitches switches);

        [DllImport(Library, CallingConvention = C)]
        public static extern int cm_worked_without(ulong engine);

        [DllImport(Library, CallingConvention = C)]
        public static extern int cm_get_metrics(
            ulong engine, uint arms, byte[] into, UIntPtr cap, out UIntPtr length);

        /// <summary>Throws, with what is missing and where it belongs, unless the native library is there.</summary>
        public static void Require()
        {
            uint version;
            try
            {
                version = cm_abi_version();
            }
            catch (DllNotFoundException error)
            {
                // Mono does not say which.
                throw new DllNotFoundException(
                    "Missing, or built for another processor: " + Expected() + " (" + error.Message + ")", error);
            }
            catch (BadImageFormatException error)
            {
                throw new DllNotFoundException("Built for another processor: " + Expected(), error);
            }
            catch (EntryPointNotFoundException error)
            {
                throw new DllNotFoundException("Not commute's library, or an old one: " + Expected(), error);
            }
            if (version != AbiVersion)
                throw new DllNotFoundException(
                    "Version " + version + " where " + AbiVersion + " is needed: " + Expected());
        }

        /// <summary>Copies a text or part, whose length is asked for first; null unless it is there.</summary>
        public static byte[] Copy(Copier copy)
        {
            UIntPtr length;
            var into = new byte[1024];
            var status = copy(into, (UIntPtr)into.Length, out length);
            // It may grow meanwhile.
            while (status == (int)CommuteStatus.Room)
            {
                into = new byte[(int)length];
                status = copy(into, (UIntPtr)into.Length, out length);
            }
            if (status != (int)CommuteStatus.Ok)
                return null;
            Array.Resize(ref into, (int)length);
            return into;
        }

        public delegate int Copier(byte[] into, UIntPtr cap, out UIntPtr length);

        public delegate int Starter(ulong user, out ulong call);

        /// <summary>Names the file, the ABI and the folder that it belongs in.</summary>
        static string Expected()
        {
#if UNITY_ANDROID && !UNITY_EDITOR
            var abi = AndroidAbi(RuntimeInformation.ProcessArchitecture);
            return "libcommute_client.so for ABI " + abi + " in Plugins/Android/" + abi;
#elif UNITY_IOS && !UNITY_EDITOR
            return "libcommute_client.a for ABI arm64 in Plugins/iOS, linked into the app";
#else
            var process = IntPtr.Size == 8 ? "64-bit" : "32-bit";
            switch (Environment.OSVersion.Platform)
            {
                case PlatformID.Win32NT:
                    return "commute_client.dll for ABI x86_64 (this process is " + process + ") in Plugins/x86_64";
                case PlatformID.MacOSX:
                    return "libcommute_client.dylib for ABI x86_64 or arm64 in Plugins/macOS";
                default:
                    return "libcommute_client.so (macOS: .dylib) for ABI x86_64 (this process is " + process
                        + ") in Plugins/x86_64; outside of Unity, in a folder of LD_LIBRARY_PATH";
            }
#endif
        }

        /// <summary>Returns Android's name for a processor's ABI.</summary>
        internal static string AndroidAbi(Architecture architecture)
        {
            switch (architecture)
            {
                case Architecture.Arm64: return "arm64-v8a";
                case Architecture.Arm: return "armeabi-v7a";
                case Architecture.X64: return "x86_64";
                default: return "x86";
            }
        }
    }
}
