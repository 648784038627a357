/**
 * What not every driver can do. `connections`: more than one at a time. `listen`: LISTEN, in a worker. `names`: statements
 * prepared under a name. `generic`: every statement is sent prepared, and planned generically.
 */
export type Ability = "connections" | "listen" | "names" | "generic";

/** Why it cannot; an ability that is not named is there. */
export type Lacks = Partial<Record<Ability, string>>;
