import { fail, type Handler, type PayloadOf, type Worker } from "pgqueue";
import { reportSales, sendReceipt } from "./queue.ts";

export class AddressRefused extends Error {}

export type SendMail = (to: string, text: string) => Promise<void>;

export const sendsReceipt =
  (sendMail: SendMail): Handler<PayloadOf<typeof sendReceipt>> =>
  async ({ payload }) => {
    try {
      await sendMail(payload.to, `Thank you for order ${payload.orderId}.`);
    } catch (error) {
      // It would be refused at the next try too.
      if (error instanceof AddressRefused) return fail(error);
      throw error;
    }
  };

export function registerHandlers(worker: Worker, sendMail: SendMail): void {
  worker.register(sendReceipt, sendsReceipt(sendMail));
  worker.register(reportSales, async ({ payload }) => {
    payload.reports++;
    await sendMail("owner@example.com", `Report ${payload.reports}`);
  });
}
