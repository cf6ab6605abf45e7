"""A codec runner that tries to leave its confinement, and reports the outcomes when it is to encode."""
import json, os, socket, sys

port, name, host_process, mark = sys.argv[1:]

def attempt(action):
    try:
        return "allowed" if action() is not False else "denied"
    except OSError:
        return "denied"

def connect_abstract():
    socket.socket(socket.AF_UNIX).connect("\0" + name)

def leave_process():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execvp("sleep", [mark, "1000"])
        os._exit(0)

outcomes = {
    "loopback": attempt(lambda: socket.create_connection(("127.0.0.1", int(port)), 2)),
    "abstract": attempt(connect_abstract),
    "see": attempt(lambda: os.stat("/proc/" + host_process)),
    "signal": attempt(lambda: os.kill(int(host_process), 0)),
    "descriptor": attempt(lambda: os.read(9, 50)),
    # A session from outside of the PID namespace is 0.
    "session": attempt(lambda: os.getsid(0) == 0),
}
leave_process()

lines, out = open(os.environ["COMMUTE_IN"]), open(os.environ["COMMUTE_OUT"], "w")
def reply(**fields):
    print(json.dumps(fields), file=out, flush=True)
for line in lines:
    kind = json.loads(line)["type"]
    if kind == "hello":
        reply(type="hello", version=2, runtime="external", runtime_version="1", codecs=[
            dict(codec="json", library="its own", library_version="1", parts=["encode", "decode"])])
    elif kind == "setup":
        reply(type="ready")
    else:
        reply(type="failed", reason=" ".join(f"{k}={v}" for k, v in outcomes.items()))
