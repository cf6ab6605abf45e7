using Newtonsoft.Json.Linq;
namespace Commute { sealed class CurlStack : Stack { public override JObject Hello() => throw new Failed("not yet"); protected override Session NewSession(Setup s) => throw new Failed("not yet"); } }
