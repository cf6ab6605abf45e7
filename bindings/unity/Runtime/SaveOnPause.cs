#if UNITY_2019_4_OR_NEWER
using UnityEngine;

namespace Commute.Client
{
    /// <summary>Saves what all engines learnt when the app goes to the background, where the system may end it.</summary>
    sealed class SaveOnPause : MonoBehaviour
    {
        [RuntimeInitializeOnLoadMethod(RuntimeInitializeLoadType.BeforeSceneLoad)]
        static void Register()
        {
            // Only components get the event.
            var holder = new GameObject("commute");
            DontDestroyOnLoad(holder);
            holder.AddComponent<SaveOnPause>();
        }

        void OnApplicationPause(bool paused)
        {
            if (paused)
                CommuteEngine.SaveAll();
        }
    }
}
#endif
