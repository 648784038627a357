/** What the caller asked for cannot be done; its message is all that they are told. */
export class UsageError extends Error {}
