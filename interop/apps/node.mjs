// The application of the interoperability matrix (interop/README.md) as a server of Node's http2 module, which answers
// HTTP/1.1, too.
import { createHash } from "node:crypto";
import { createReadStream, readFileSync, statSync } from "node:fs";
import { createSecureServer } from "node:http2";
import { basename, join } from "node:path";

const [port, files, cert, key] = process.argv.slice(2);
const seen = new Map();

const server = createSecureServer(
  { allowHTTP1: true, cert: readFileSync(cert), key: readFileSync(key) },
  (request, response) => {
    const url = new URL(request.url, "https://localhost");
    const id = url.searchParams.get("id");
    if (url.pathname === "/upload") {
      upload(request, response, id);
    } else if (url.pathname === "/seen") {
      response.end(`${seen.get(id) ?? 0}\n`);
    } else if (url.pathname === "/trailers") {
      response.setHeader("trailer", "x-interop");
      response.write("body\n");
      response.addTrailers({ "x-interop": "trailer" });
      response.end();
    } else if (url.pathname === "/hints") {
      response.writeEarlyHints({ link: "</style.css>; rel=preload; as=style" });
      response.end("body\n");
    } else {
      file(request, response, basename(url.pathname));
    }
  },
);
server.listen(Number(port), "127.0.0.1");

function upload(request, response, id) {
  seen.set(id, (seen.get(id) ?? 0) + 1);
  const sum = createHash("sha256");
  let length = 0;
  request.on("data", (piece) => {
    sum.update(piece);
    length += piece.length;
  });
  request.on("end", () => response.end(`${sum.digest("hex")} ${length}\n`));
}

function file(request, response, name) {
  const path = join(files, name);
  let size;
  try {
    size = statSync(path).size;
  } catch {
    response.writeHead(404);
    response.end();
    return;
  }
  const etag = `"${name}-${size}"`;
  const fields = { etag, "accept-ranges": "bytes" };
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "");
  const asked = range && [undefined, etag].includes(request.headers["if-range"]);
  const start = asked ? Number(range[1]) : 0;
  const end = asked && range[2] !== "" ? Math.min(Number(range[2]), size - 1) : size - 1;
  if (asked) fields["content-range"] = `bytes ${start}-${end}/${size}`;
  fields["content-length"] = end + 1 - start;
  response.writeHead(asked ? 206 : 200, fields);
  if (request.method === "HEAD") {
    response.end();
    return;
  }
  const stream = createReadStream(path, { start, end });
  stream.on("error", () => response.destroy());
  response.on("close", () => stream.destroy());
  stream.pipe(response);
}
