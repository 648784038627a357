import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { ActivityName, ActivityOf } from "./activities/load.ts";
import type { FromChild, ToChild } from "./protocol.ts";

type InputOf<Name extends ActivityName> = Parameters<ActivityOf<Name>>[0];
type ReportOf<Name extends ActivityName> = Awaited<ReturnType<ActivityOf<Name>>>;

const measured = fileURLToPath(new URL("./child.ts", import.meta.url));

/** Several times what the slowest takes between two messages. */
const longestSilence = 5 * 60_000;

/**
 * A fresh process that does one activity, so that no side inherits another's heap or compiled code. One that has said
 * nothing for long hangs: it fails.
 */
export class MeasuredProcess<Name extends ActivityName> {
  readonly ready: Promise<void>;
  readonly report: Promise<ReportOf<Name>>;
  /** Called with how much is done so far, each time that is told. */
  onProgress: (done: number) => void = () => {};
  readonly #child: ChildProcess;

  constructor(activity: Name, input: InputOf<Name>, { patience = longestSilence, program = measured } = {}) {
    const ready = Promise.withResolvers<void>();
    const report = Promise.withResolvers<ReportOf<Name>>();
    this.ready = ready.promise;
    this.report = report.promise;
    // Whoever waits for one of them learns of a failure; the other must not end the process for it.
    ready.promise.catch(() => {});
    report.promise.catch(() => {});
    // What a side prints is not shown, but printing it is part of its work.
    this.#child = fork(program, { serialization: "advanced", stdio: ["ignore", "ignore", "pipe", "ipc"] });
    let complaints = "";
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      complaints += chunk.toString();
    });
    const fail = (reason: string) => {
      const error = new Error(`${activity} of ${(input as { side: string }).side} ${reason}`);
      ready.reject(error);
      report.reject(error);
    };
    const silence = setTimeout(() => {
      fail(`hangs: there was no word from it for ${patience / 1_000} s`);
      this.kill();
    }, patience);
    this.#child.on("message", (message: FromChild) => {
      silence.refresh();
      if (message.type === "ready") ready.resolve();
      if (message.type === "progress") this.onProgress(message.done);
      if (message.type === "error") fail(`failed: ${message.message}`);
      if (message.type === "report") report.resolve(message.report as ReportOf<Name>);
      if (message.type === "report" || message.type === "error") this.#child.kill();
    });
    // Not at its exit: what it printed at last may come after that.
    this.#child.on("close", (code, signal) => {
      clearTimeout(silence);
      fail(`ended ${signal ? `by ${signal}` : `with code ${code}`}${complaints ? `: ${complaints}` : ""}`);
    });
    this.#send({ type: "do", activity, input });
  }

  begin(): void {
    this.#send({ type: "begin" });
  }

  end(): void {
    this.#send({ type: "end" });
  }

  /** Ends it whatever it does. */
  kill(): void {
    this.#child.kill("SIGKILL");
  }

  #send(message: ToChild): void {
    if (this.#child.connected) this.#child.send(message);
  }
}
