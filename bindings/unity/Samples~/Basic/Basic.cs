using System.Collections;
using System.Net.Http;
using Commute.Client;
using UnityEngine;

/// <summary>Fetches a URL by HttpClient, and once more by Mhttp in a coroutine.</summary>
public sealed class Basic : MonoBehaviour
{
    public string url = "https://www.example.com/";

    CommuteEngine engine;
    HttpClient client;

    async void Start()
    {
        engine = new CommuteEngine(new EngineOptions { MemoryFolder = Application.persistentDataPath + "/commute" });
        client = new HttpClient(new CommuteHandler(engine));
        using (var response = await client.GetAsync(url))
            Debug.Log((int)response.StatusCode + " by " + response.CommuteReport().Because);
        Mhttp.Client.Use(new CommuteHandler(engine));
        StartCoroutine(Fetch());
    }

    IEnumerator Fetch()
    {
        var response = Mhttp.Client.Send(new Mhttp.Request(url));
        yield return response;
        Debug.Log(response.error ?? response.code + ": " + response.data.Length + " bytes");
    }

    void OnDestroy()
    {
        client?.Dispose();
        engine?.Dispose();
    }
}
