import { asc } from "drizzle-orm";
import { announceIssue } from "./announce-issue.ts";
import { close, db } from "./db.ts";
import { expireUploads } from "./expire-uploads.ts";
import { issues, subscribers, tasks, uploads } from "./schema.ts";

try {
  await db.insert(issues).values({ id: 7, title: "Spring", sendAt: new Date("2100-03-20T06:00:00Z") });
  await db
    .insert(subscribers)
    .values([
      { email: "ada@example.com" },
      { email: "bob@example.com" },
      { email: "eve@example.com", isActive: false },
    ]);
  console.log(`issue 7: ${await announceIssue(7)} tasks added`);
  console.log(`once more: ${await announceIssue(7)} tasks added`);
  await db.insert(subscribers).values({ email: "cleo@example.com" });
  console.log(`with a new subscriber: ${await announceIssue(7)} tasks added`);

  await db.insert(uploads).values([
    { path: "a.png", expiresAt: new Date("2020-01-01") },
    { path: "b.png", expiresAt: new Date("2020-01-02") },
    { path: "c.png", expiresAt: new Date("2100-01-01") },
  ]);
  console.log(`uploads: ${await expireUploads()} expired, ${await db.$count(uploads)} left`);

  for (const { queue, hash, payload, runAt } of await db.select().from(tasks).orderBy(asc(tasks.id))) {
    const due = runAt > new Date() ? `at ${runAt.toISOString()}` : "now";
    console.log(`${queue} ${hash} ${JSON.stringify(payload)} ${due}`);
  }
} finally {
  await close();
}
