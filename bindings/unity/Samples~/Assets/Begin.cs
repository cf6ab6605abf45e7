using UnityEngine;

/// <summary>Puts the sample into whatever scene is played, so that the project needs none.</summary>
static class Begin
{
    [RuntimeInitializeOnLoadMethod]
    static void AddBasic()
    {
        new GameObject("commute").AddComponent<Basic>();
    }
}
