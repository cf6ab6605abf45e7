// Runs in the tab of the developer tools: resolves once they record the page, and defines `harOf`.
(async () => {
  const until = async (value) => {
    for (;;) {
      const found = value();
      if (found) return found;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const [sdk, logs, har] = await Promise.all(
    ["core/sdk/sdk.js", "models/logs/logs.js", "models/har/har.js"].map((module) => import(`/devtools/${module}`)),
  );
  const log = logs.NetworkLog.NetworkLog.instance();
  const page = await until(() => sdk.TargetManager.TargetManager.instance().primaryPageTarget());
  // Commands are executed in order, so the recording has begun when this one is answered.
  await page.runtimeAgent().invoke_evaluate({ expression: "0" });
  window.harOf = async (count) => {
    const ended = (request) => request.finished || request.failed;
    await until(() => log.requests().length >= count && log.requests().every(ended));
    const progress = { createSubProgress: () => progress };
    let text = "";
    const stream = { write: async (part) => void (text += part) };
    await har.Writer.Writer.write(stream, log.requests(), { sanitize: true }, progress);
    return text;
  };
})()
