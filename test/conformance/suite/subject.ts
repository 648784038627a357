import { migrate } from "pgqueue";
import { type Database, type Driver, type Handle, loadDriver, type Mode } from "./driver.ts";
import { createEffects } from "./effects.ts";
import { createWide } from "./wide.ts";

/** What the cases of a cell are about: a database with pgqueue's tables under their default names. */
export class Subject {
  readonly #driver: Driver;
  readonly #url: string;
  readonly #handle: Handle;
  readonly #ends: (() => unknown)[] = [];

  private constructor(
    driver: Driver,
    url: string,
    readonly mode: Mode,
    handle: Handle,
  ) {
    this.#driver = driver;
    this.#url = url;
    this.#handle = handle;
  }

  static async open(name: Parameters<typeof loadDriver>[0], url: string, mode: Mode): Promise<Subject> {
    const driver = await loadDriver(name);
    const subject = new Subject(driver, url, mode, await driver.open(url, mode));
    await migrate(subject.db);
    await createEffects(subject.db);
    await createWide(subject.db);
    return subject;
  }

  get db(): Database {
    return this.#handle.db;
  }

  get lacks() {
    return this.#driver.lacks(this.mode);
  }

  /** A database on connections of its own, until the case ends. */
  async another(): Promise<Database> {
    const { db, close } = await this.#driver.open(this.#url, this.mode);
    this.after(close);
    return db;
  }

  /** Is done at the end of the case, however it ends; the last first. */
  after(end: () => unknown): void {
    this.#ends.push(end);
  }

  async endCase(): Promise<void> {
    for (let end = this.#ends.pop(); end; end = this.#ends.pop()) await end();
  }

  close(): Promise<unknown> {
    return this.#handle.close();
  }
}
