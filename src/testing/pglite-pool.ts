import type { PGlite } from "@electric-sql/pglite";

const mostIdle = 2;
const longestReset = 2_000;
const longestIdle = 1_000;

const idle: PGlite[] = [];
let idleTimer: NodeJS.Timeout | undefined;
let pristine: { files: Awaited<ReturnType<PGlite["dumpDataDir"]>>; catalog: string } | undefined;

/**
 * An empty database. The first one takes a second or two to boot; others are those that were given back, emptied, or else
 * are loaded from a copy of the first.
 */
export async function takeDatabase(): Promise<PGlite> {
  for (;;) {
    const used = idle.pop();
    if (!used) return boot();
    if (await endsInTime(empty(used))) return used;
    void used.close().catch(() => {});
  }
}

/** Whatever was done to it, the next one who takes it finds it empty. It is not kept for long: it would keep the process. */
export async function giveDatabase(client: PGlite): Promise<void> {
  if (client.closed) return;
  if (idle.length === mostIdle) return client.close();
  idle.push(client);
  clearTimeout(idleTimer);
  idleTimer = setTimeout(() => {
    for (const unused of idle.splice(0)) void unused.close().catch(() => {});
  }, longestIdle);
  idleTimer.unref();
}

async function boot(): Promise<PGlite> {
  const { PGlite } = await import("@electric-sql/pglite");
  if (pristine) return PGlite.create({ loadDataDir: pristine.files });
  const client = await PGlite.create();
  pristine ??= { files: await client.dumpDataDir("none"), catalog: await catalogOf(client) };
  return client;
}

/** @throws when something is left that emptying does not know of. */
async function empty(client: PGlite): Promise<void> {
  await client.exec("discard all");
  await client.exec(dropAll);
  if ((await catalogOf(client)) !== pristine?.catalog) throw new Error("the database could not be emptied");
}

/** A transaction that was never ended would be waited for without end. */
async function endsInTime(work: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, longestReset, false);
  });
  const ended = work.then(
    () => true,
    () => false,
  );
  return Promise.race([ended, late]).finally(() => clearTimeout(timer));
}

const dropAll = `
do $$
declare name text;
begin
  for name in select nspname from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema' loop
    execute format('drop schema %I cascade', name);
  end loop;
  for name in select rolname from pg_roles where oid >= 16384 loop
    execute format('drop owned by %I cascade', name);
    execute format('drop role %I', name);
  end loop;
  create schema public;
  grant usage on schema public to public;
end $$`;

/** What tells a used database from a new one, apart from what a schema holds. */
async function catalogOf(client: PGlite): Promise<string> {
  const { rows } = await client.query(`
    select (select string_agg(nspname, ',' order by nspname) from pg_namespace where nspname !~ '^pg_(toast_)?temp') as schemas,
      (select string_agg(extname, ',' order by extname) from pg_extension) as extensions,
      (select string_agg(rolname, ',' order by rolname) from pg_roles) as roles,
      (select count(*) from pg_db_role_setting) as settings,
      (select count(*) from pg_largeobject_metadata) as objects,
      (select count(*) from pg_event_trigger) as triggers,
      (select count(*) from pg_publication) as publications,
      (select count(*) from pg_default_acl) as privileges,
      (select count(*) from pg_cast) as casts,
      (select count(*) from pg_language) as languages,
      (select count(*) from pg_am) as methods,
      (select count(*) from pg_database) as databases,
      (select count(*) from pg_foreign_data_wrapper) as wrappers,
      (select count(*) from pg_foreign_server) as servers,
      (select count(*) from pg_class where oid >= 16384) as relations,
      (select count(*) from pg_proc where oid >= 16384) as functions,
      (select count(*) from pg_type where oid >= 16384) as types`);
  return JSON.stringify(rows);
}
