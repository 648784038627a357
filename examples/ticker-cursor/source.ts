interface Contact {
  id: number;
  name: string;
}

/** Hands out what it has in pages, in the order of id. */
export interface Source {
  pageAfter(cursor: number, signal: AbortSignal): Promise<Contact[]>;
}

/** Stands for the API of another system. */
export function createSource(names: readonly string[], pageSize: number): Source {
  const contacts = names.map((name, i) => ({ id: i + 1, name }));
  return {
    pageAfter: async (cursor) => contacts.filter(({ id }) => id > cursor).slice(0, pageSize),
  };
}
