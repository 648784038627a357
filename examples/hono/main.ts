import { EventEmitter, once } from "node:events";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { app } from "./app.ts";
import { close } from "./db.ts";
import { createReceiptWorker } from "./worker.ts";

const events = new EventEmitter();
const worker = createReceiptWorker(
  async (to, text) => console.log(`mail to ${to}: ${text}`),
  (event) => events.emit(event.type, event),
);
await worker.start();

const server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 });
await once(server, "listening");
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

async function request(path: string, body?: unknown): Promise<any> {
  const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(origin + path, body ? init : {});
  const answer = await response.json();
  console.log(`${body ? "POST" : "GET"} ${path}: ${response.status} ${JSON.stringify(answer)}`);
  return answer;
}

await request("/orders", { email: "not an address" });
const settled = once(events, "settled", { signal: AbortSignal.timeout(30_000) });
const { taskId } = await request("/orders", { email: "ada@example.com" });
await settled;
await request(`/tasks/${taskId}`);
await request("/tasks/999");

// First nothing new comes in, then what runs comes to its end, and only then do the connections go.
await new Promise((resolve) => server.close(resolve));
console.log("the server is closed");
await worker.stop();
console.log("the worker has stopped");
await close();
console.log("the database is closed");
