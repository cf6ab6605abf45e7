using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Text;

namespace Commute.Client
{
    /// <summary>Copies for native code to read, freed together.</summary>
    sealed class Memory : IDisposable
    {
        readonly List<IntPtr> blocks = new List<IntPtr>();

        public NativeBytes Text(string text) => string.IsNullOrEmpty(text) ? default(NativeBytes) : Bytes(Encoding.UTF8.GetBytes(text));

        public NativeBytes Bytes(byte[] bytes) => bytes == null ? default(NativeBytes) : Bytes(bytes, bytes.Length);

        public NativeBytes Bytes(byte[] bytes, int length)
        {
            if (length == 0)
                return default(NativeBytes);
            var block = Allocate(length);
            Marshal.Copy(bytes, 0, block, length);
            return new NativeBytes { Pointer = block, Length = (UIntPtr)length };
        }

        public IntPtr Array<T>(List<T> items) where T : struct
        {
            if (items.Count == 0)
                return IntPtr.Zero;
            var size = Marshal.SizeOf(typeof(T));
            var block = Allocate(size * items.Count);
            for (var index = 0; index < items.Count; index++)
                Marshal.StructureToPtr(items[index], IntPtr.Add(block, index * size), false);
            return block;
        }

        public void Dispose()
        {
            blocks.ForEach(Marshal.FreeHGlobal);
            blocks.Clear();
        }

        IntPtr Allocate(int length)
        {
            var block = Marshal.AllocHGlobal(length);
            blocks.Add(block);
            return block;
        }
    }
}
