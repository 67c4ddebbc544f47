// The runtime of the client (7c45ef61e4a79b1b), compiled from packages/client/ of the toolkit. Do not edit.
/** Runs a command. @returns the exit code. */
export declare function main(given: string[]): Promise<number>;
