using System.Collections;
using System.Net.Http;
using Commute.Client;
using UnityEngine;

/// <summary>Fetches a URL by HttpClient, or by Mhttp in a coroutine, and shows how the response came.</summary>
public sealed class Basic : MonoBehaviour
{
    public string url = "https://www.example.com/";

    CommuteEngine engine;
    HttpClient client;
    string said = "";

    void Start()
    {
        var options = new EngineOptions { MemoryFolder = Application.persistentDataPath + "/commute" };
        options.H3Hints.Add(url);
        engine = new CommuteEngine(options);
        client = new HttpClient(new CommuteHandler(engine));
        Mhttp.Client.Use(new CommuteHandler(engine));
        StartCoroutine(WatchNetwork());
    }

    void OnGUI()
    {
        if (GUILayout.Button("GET by HttpClient"))
            ByHttpClient();
        if (GUILayout.Button("GET by Mhttp"))
            StartCoroutine(ByMhttp());
        GUILayout.Label(said);
    }

    async void ByHttpClient()
    {
        try
        {
            using (var response = await client.GetAsync(url))
                Say((int)response.StatusCode + " by " + response.CommuteReport().Because);
        }
        catch (System.Exception failure)
        {
            Say((failure.InnerException ?? failure).Message);
        }
    }

    IEnumerator ByMhttp()
    {
        var response = Mhttp.Client.Send(new Mhttp.Request(url));
        yield return response;
        Say(response.error ?? response.code + ": " + response.data.Length + " bytes by " + response.report.Because);
    }

    /// <summary>Reports another network to the engine. Unity does not distinguish Wi-Fi networks.</summary>
    IEnumerator WatchNetwork()
    {
        while (true)
        {
            var network = Application.internetReachability;
            var none = network == NetworkReachability.NotReachable;
            var cellular = network == NetworkReachability.ReachableViaCarrierDataNetwork;
            var kind = cellular ? NetworkKind.Cellular : NetworkKind.Other;
            engine.SetNetwork(none ? null : new[] { (byte)network }, cellular, kind);
            yield return new WaitForSecondsRealtime(1);
        }
    }

    void Say(string text)
    {
        said = text;
        Debug.Log(text);
    }

    void OnDestroy()
    {
        client?.Dispose();
        engine?.Dispose();
    }
}
