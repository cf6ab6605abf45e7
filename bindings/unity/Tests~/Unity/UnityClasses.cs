// What the package uses of Unity, declared so that mcs can check the code that only Unity compiles.

using System;
using System.Collections;

namespace UnityEngine
{
    public class Object
    {
        public static void DontDestroyOnLoad(Object target)
        {
        }
    }

    public class MonoBehaviour : Object
    {
        public object StartCoroutine(IEnumerator routine) => null;
    }

    public sealed class GameObject : Object
    {
        public GameObject(string name)
        {
        }

        public T AddComponent<T>() where T : MonoBehaviour => null;
    }

    public enum NetworkReachability
    {
        NotReachable,
        ReachableViaCarrierDataNetwork,
        ReachableViaLocalAreaNetwork,
    }

    public static class Application
    {
        public static string persistentDataPath => "";
        public static NetworkReachability internetReachability => NetworkReachability.NotReachable;
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

        public static void LogException(Exception exception)
        {
        }
    }

    public static class GUILayout
    {
        public static bool Button(string text) => false;

        public static void Label(string text)
        {
        }
    }

    public sealed class WaitForSecondsRealtime
    {
        public WaitForSecondsRealtime(float seconds)
        {
        }
    }

    public enum RuntimeInitializeLoadType
    {
        BeforeSceneLoad,
    }

    public sealed class RuntimeInitializeOnLoadMethodAttribute : Attribute
    {
        public RuntimeInitializeOnLoadMethodAttribute()
        {
        }

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
