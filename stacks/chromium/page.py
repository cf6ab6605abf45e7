"""A page of the origin that was not fetched from it, in a browser context of its own, with its own
sockets, tickets and cache."""

import base64
import os

HERE = os.path.dirname(os.path.abspath(__file__))


class Page:
    def __init__(self, browser, origin):
        self.browser = browser
        self.context = browser.call("Target.createBrowserContext")["browserContextId"]
        target = browser.call("Target.createTarget", url="about:blank",
                              browserContextId=self.context)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target,
                                    flatten=True)["sessionId"]
        self.navigate(origin)
        self.command("Network.enable")
        self.numbers = {}  # our numbers of connections, by Chromium's
        self.latest = 0    # our number of the connection seen last
        self.unnamed = 0   # our number of a connection whose opening call had no response
        self.in_flight = 0
        self.retired = False

    def navigate(self, origin):
        """Lets DevTools answer in the server's place, so that the origin is not touched."""
        self.command("Page.enable")
        self.command("Fetch.enable", patterns=[{"urlPattern": "*"}])
        self.browser.send("Page.navigate", self.session, url=origin + "/blank")
        paused = self.event("Fetch.requestPaused")
        with open(os.path.join(HERE, "page.html"), "rb") as html:
            body = base64.b64encode(html.read()).decode()
        self.command("Fetch.fulfillRequest", requestId=paused["requestId"], responseCode=200,
                     responseHeaders=[{"name": "content-type", "value": "text/html"}], body=body)
        self.event("Page.loadEventFired")
        self.command("Page.disable")
        self.command("Fetch.disable")

    def command(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def event(self, name):
        return self.browser.wait_for(
            lambda message: (message.get("method"), message.get("sessionId")) == (name, self.session)
        )["params"]

    def start(self, expression):
        """Starts to evaluate an expression; returns the number of the command."""
        return self.browser.send("Runtime.evaluate", self.session, expression=expression,
                                 awaitPromise=True, returnByValue=True)

    def evaluate(self, expression):
        return self.command("Runtime.evaluate", expression=expression, awaitPromise=True,
                            returnByValue=True)["result"].get("value")

    def enter(self):
        self.in_flight += 1

    def leave(self):
        self.in_flight -= 1
        self.close_if_done()

    def retire(self):
        """Takes no more calls, and closes with its connections when the last has ended."""
        self.retired = True
        self.close_if_done()

    def close_if_done(self):
        if self.retired and not self.in_flight:
            self.browser.call("Target.disposeBrowserContext", browserContextId=self.context)
