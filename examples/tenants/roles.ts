import { appRole, workerRole } from "./schema.ts";

/**
 * Roles belong to the whole server, and are there before its databases: in production, infrastructure makes them.
 * The worker is a member of the app, to become it in a handler.
 */
export const createRoles = `do $$
begin
  if to_regrole('${appRole.name}') is null then create role ${appRole.name}; end if;
  if to_regrole('${workerRole.name}') is null then
    create role ${workerRole.name} in role ${appRole.name};
  end if;
end $$`;

/** To enqueue, a role needs no more than this. What it may not do is pause a queue, which is of all tenants. */
export const grantRights = `do $$
begin
  grant select on tenants to ${appRole.name};
  grant select, insert on invoices, pgqueue_tasks to ${appRole.name};
  grant select, insert, update, delete on all tables in schema public to ${workerRole.name};
end $$`;
