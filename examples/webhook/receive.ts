import * as v from "valibot";
import { db } from "./db.ts";
import { PaymentEvent, pgqueue, recordPayment } from "./queue.ts";

/** Answers fast and does the work later. Whatever is answered with 200 is in the database. */
export async function receive(request: Request): Promise<Response> {
  const event = v.safeParse(PaymentEvent, await request.json().catch(() => undefined));
  if (!event.success) return Response.json({ error: v.summarize(event.issues) }, { status: 400 });

  const answer = await db.transaction(async (tx) => {
    const { id, status, deduplicated } = await pgqueue.enqueue(tx, recordPayment, event.output);
    const isRepaired = deduplicated && status === "failed";
    if (isRepaired) {
      // The sender may have corrected the event, and what is stored is the first delivery.
      await pgqueue.replacePayload(tx, recordPayment, id, event.output);
      await pgqueue.enable(tx, id);
    }
    return { deduplicated, isRepaired };
  });
  return Response.json(answer);
}
