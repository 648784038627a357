import type { Case } from "./case.ts";
import { claimCases } from "./cases/claim.ts";
import { columnCases } from "./cases/columns.ts";
import { compositionCases } from "./cases/composition.ts";
import { enqueueCases } from "./cases/enqueue.ts";
import { enqueueFromCases } from "./cases/enqueue-from.ts";
import { faultCases } from "./cases/faults.ts";
import { finalizeCases } from "./cases/finalize.ts";
import { leaseCases } from "./cases/leases.ts";
import { payloadCases } from "./cases/payloads.ts";
import { preparedCases } from "./cases/prepared.ts";
import { repairCases } from "./cases/repair.ts";
import { tableCases } from "./cases/tables.ts";
import { transactionCases } from "./cases/transactions.ts";
import { workerCases } from "./cases/worker.ts";

/** All promises that hold on every driver. */
export const cases: readonly Case[] = [
  ...enqueueCases,
  ...enqueueFromCases,
  ...payloadCases,
  ...claimCases,
  ...finalizeCases,
  ...leaseCases,
  ...repairCases,
  ...columnCases,
  ...transactionCases,
  ...compositionCases,
  ...tableCases,
  ...workerCases,
  ...faultCases,
  ...preparedCases,
];
