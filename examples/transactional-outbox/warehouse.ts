import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

/** Stands for another company's system. It ships once for each idempotency key, however often it is asked. */
export async function openWarehouse() {
  const shipments = new Map<string, unknown>();
  let requests = 0;

  const server = createServer(async (request, response) => {
    requests++;
    const key = String(request.headers["idempotency-key"]);
    const isRepeated = shipments.has(key);
    if (!isRepeated) shipments.set(key, await json(request));
    // It has done what it was asked, and the sender will not hear of it.
    if (requests === 1) return response.destroy();
    response.writeHead(isRepeated ? 200 : 201).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/shipments`,
    shipments,
    get requests() {
      return requests;
    },
    close: () => server.close(),
  };
}
