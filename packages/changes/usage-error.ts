// The command was called with something that it cannot use.
export class UsageError extends Error {}
