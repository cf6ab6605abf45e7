// Writes System.Runtime.CompilerServices.Unsafe.dll into the current folder: the five methods that
// Google.Protobuf calls, with the instructions of Microsoft's package of that name. C# cannot express
// them, Mono's own are internal, and Debian has neither the package nor a small package with an IL
// assembler.

using System;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;

static class MakeUnsafe
{
    const string Name = "System.Runtime.CompilerServices.Unsafe";

    static TypeBuilder unsafeClass;

    static void Main()
    {
        var assembly = AppDomain.CurrentDomain.DefineDynamicAssembly(
            new AssemblyName(Name) { Version = new Version(4, 0, 4, 1) }, AssemblyBuilderAccess.Save);
        var module = assembly.DefineDynamicModule(Name, Name + ".dll");
        unsafeClass = module.DefineType(Name,
            TypeAttributes.Public | TypeAttributes.Abstract | TypeAttributes.Sealed | TypeAttributes.BeforeFieldInit);

        Method("As", 2, t => t[1].MakeByRefType(), t => new[] { t[0].MakeByRefType() }, (il, t) =>
            il.Emit(OpCodes.Ldarg_0));
        Method("Add", 1, t => t[0].MakeByRefType(), t => new[] { t[0].MakeByRefType(), typeof(int) }, (il, t) =>
        {
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Ldarg_1);
            il.Emit(OpCodes.Sizeof, t[0]);
            il.Emit(OpCodes.Conv_I);
            il.Emit(OpCodes.Mul);
            il.Emit(OpCodes.Add);
        });
        Method("AddByteOffset", 1, t => t[0].MakeByRefType(), t => new[] { t[0].MakeByRefType(), typeof(IntPtr) }, (il, t) =>
        {
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Ldarg_1);
            il.Emit(OpCodes.Add);
        });
        Method("ReadUnaligned", 1, t => t[0], t => new[] { typeof(byte).MakeByRefType() }, (il, t) =>
        {
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Unaligned, (byte)1);
            il.Emit(OpCodes.Ldobj, t[0]);
        });
        Method("WriteUnaligned", 1, t => typeof(void), t => new[] { typeof(byte).MakeByRefType(), t[0] }, (il, t) =>
        {
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Ldarg_1);
            il.Emit(OpCodes.Unaligned, (byte)1);
            il.Emit(OpCodes.Stobj, t[0]);
        });

        unsafeClass.CreateType();
        assembly.Save(Name + ".dll");
    }

    static void Method(string name, int types, Func<Type[], Type> returns, Func<Type[], Type[]> takes, Action<ILGenerator, Type[]> body)
    {
        var method = unsafeClass.DefineMethod(name, MethodAttributes.Public | MethodAttributes.Static | MethodAttributes.HideBySig);
        var names = types == 1 ? new[] { "T" } : new[] { "TFrom", "TTo" };
        Type[] generic = method.DefineGenericParameters(names);
        method.SetReturnType(returns(generic));
        method.SetParameters(takes(generic));
        method.SetImplementationFlags(MethodImplAttributes.AggressiveInlining);
        var il = method.GetILGenerator();
        body(il, generic);
        il.Emit(OpCodes.Ret);
    }
}
