import type postgres from "postgres";

/** What the catalog says of a database: a line a fact, in an order that does not depend on how it came to be. */
export async function fingerprint(client: postgres.Sql): Promise<string[]> {
  const rows = await client<{ fact: string }[]>`
    with relations as (
      select c.*, c.oid::regclass::text as name from pg_class c
      where c.relnamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
        and c.relnamespace::regnamespace::text not in ('pg_toast', 'drizzle') and c.relname <> 'pgqueue_migrations'
    ), tables as (select * from relations where relkind = 'r')
    select concat_ws(' ', 'schema', nspname) as fact from pg_namespace where nspname !~ '^(pg_|information_schema|drizzle)'
    union all
    select concat_ws(' ', 'table', name, 'row security', relrowsecurity, relforcerowsecurity, reloptions) from tables
    union all
    select concat_ws(' ', 'column', t.name, a.attname, format_type(a.atttypid, a.atttypmod),
      case when a.attnotnull then 'not null' end, nullif(a.attidentity, ''), pg_get_expr(d.adbin, d.adrelid))
    from tables t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
      left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    union all
    select concat_ws(' ', 'constraint', t.name, con.conname, pg_get_constraintdef(con.oid))
    from tables t join pg_constraint con on con.conrelid = t.oid
    union all
    select concat_ws(' ', 'index', pg_get_indexdef(i.indexrelid), case when not i.indisvalid then 'invalid' end)
    from tables t join pg_index i on i.indrelid = t.oid
    union all
    select concat_ws(' ', 'sequence', s.name, q.seqstart, q.seqincrement, q.seqmin, q.seqmax, q.seqcache, q.seqcycle)
    from relations s join pg_sequence q on q.seqrelid = s.oid
    union all
    select concat_ws(' ', 'policy', t.name, p.polname, p.polcmd, p.polpermissive, p.polroles::regrole[],
      pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
    from tables t join pg_policy p on p.polrelid = t.oid
    union all
    select concat_ws(' ', 'trigger', t.name, g.tgname) from tables t join pg_trigger g on g.tgrelid = t.oid
    where not g.tgisinternal
    order by fact`;
  return rows.map(({ fact }) => fact);
}
