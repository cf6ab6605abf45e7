#!/usr/bin/env node
// Runs the commute of this machine, which comes as an optional dependency: one package per system, processor and C library.
"use strict";

const { spawn } = require("node:child_process");
const os = require("node:os");

// Systems by Node's names, and how to get a Linux there.
const OTHERS = {
  darwin: ["macOS", "Lima gives it one: brew install lima && limactl start && lima"],
  win32: ["Windows", "WSL 2 gives it one: wsl --install"],
};
if (process.platform !== "linux") {
  const [system, advice] = OTHERS[process.platform] ?? [process.platform, "A virtual machine or a container is enough"];
  console.error(
    `commute: none of its verbs works on ${system}: it needs Linux, on x64 or arm64. ${advice}. Then install commute there`,
  );
  process.exit(1);
}

// The report is only read for the C library's version.
process.report.excludeNetwork = true;
const libc = process.report.getReport().header.glibcVersionRuntime ? "gnu" : "musl";
const name = `commute-${process.platform}-${process.arch}-${libc}`;

let program;
try {
  program = require.resolve(`${name}/bin/commute`);
} catch {
  console.error(
    `commute: the npm package ${name} is missing. commute runs on Linux, on x64 and arm64. There, install it ` +
      "without --omit=optional",
  );
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends its interrupts to both.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`commute: cannot start ${program}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + os.constants.signals[signal] : code));
