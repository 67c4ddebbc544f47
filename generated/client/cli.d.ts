// The runtime of the client (d9eb9fc87a358cb2), compiled from packages/client/ of the toolkit. Do not edit.
/** Runs a command. @returns the exit code. */
export declare function main(given: string[]): Promise<number>;
