// What the package uses of Unity, declared so that mcs can check the code that only Unity compiles.

using System;
using System.Collections;

namespace UnityEngine
{
    public class MonoBehaviour
    {
        public object StartCoroutine(IEnumerator routine) => null;
    }

    public static class Application
    {
        public static string persistentDataPath => "";
        public static event Action quitting
        {
            add { }
            remove { }
        }
    }

    public static class Debug
    {
        public static void Log(object message)
        {
        }
    }

    public enum RuntimeInitializeLoadType
    {
        BeforeSceneLoad,
    }

    public sealed class RuntimeInitializeOnLoadMethodAttribute : Attribute
    {
        public RuntimeInitializeOnLoadMethodAttribute(RuntimeInitializeLoadType type)
        {
        }
    }
}

namespace UnityEngine.Scripting
{
    public sealed class PreserveAttribute : Attribute
    {
    }
}

namespace UnityEditor
{
    public sealed class InitializeOnLoadAttribute : Attribute
    {
    }

    public static class AssemblyReloadEvents
    {
        public delegate void AssemblyReloadCallback();

        public static event AssemblyReloadCallback beforeAssemblyReload
        {
            add { }
            remove { }
        }
    }
}
