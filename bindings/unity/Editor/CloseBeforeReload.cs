using UnityEditor;

namespace Commute.Client.Editor
{
    /// <summary>Closes all engines before the editor unloads the domain that their threads would return to.</summary>
    [InitializeOnLoad]
    static class CloseBeforeReload
    {
        static CloseBeforeReload()
        {
            AssemblyReloadEvents.beforeAssemblyReload += CommuteEngine.CloseAll;
        }
    }
}
