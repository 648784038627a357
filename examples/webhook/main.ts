import { close, db } from "./db.ts";
import { receive } from "./receive.ts";
import { invoices, payments } from "./schema.ts";
import { createPaymentWorker } from "./worker.ts";

async function deliver(event: unknown): Promise<void> {
  const request = new Request("http://localhost/webhooks", { method: "POST", body: JSON.stringify(event) });
  const response = await receive(request);
  console.log(`delivered ${JSON.stringify(event)}: ${response.status} ${await response.text()}`);
}

const worker = createPaymentWorker((event) => {
  if (event.type !== "settled") return console.error(event);
  console.log(`task ${event.taskId}: ${event.status}${event.error ? `, ${event.error}` : ""}`);
});

try {
  await db.insert(invoices).values([{ id: 1 }, { id: 2 }]);

  await deliver({ id: "evt_1", invoiceId: 1, cents: 1250 });
  await deliver({ id: "evt_1", invoiceId: 1, cents: 1250 });
  await worker.drain();
  await deliver({ id: "evt_1", invoiceId: 1, cents: 1250 });

  await deliver({ id: "evt_2", invoiceId: 2, cents: "12.50" });

  await deliver({ id: "evt_3", invoiceId: 22, cents: 900 });
  await worker.drain();
  await deliver({ id: "evt_3", invoiceId: 2, cents: 900 });
  await worker.drain();

  for (const { eventId, invoiceId, cents } of await db.select().from(payments)) {
    console.log(`paid: ${cents} cents of invoice ${invoiceId} by ${eventId}`);
  }
} finally {
  await close();
}
