#if UNITY_2019_4_OR_NEWER
using UnityEngine;
using UnityEngine.Scripting;

// Structs have fields that only native code reads. (A link.xml of a package is not read.)
[assembly: Preserve]

namespace Commute.Client
{
    /// <summary>Closes all engines when the player quits, so that what they learnt is saved.</summary>
    static class CloseOnQuit
    {
        [RuntimeInitializeOnLoadMethod(RuntimeInitializeLoadType.BeforeSceneLoad)]
        static void Register()
        {
            Application.quitting += CommuteEngine.CloseAll;
        }
    }
}
#endif
