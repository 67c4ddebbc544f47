// The runtime of the client (7f8fb223adab4ba5), compiled from packages/client/ of the toolkit. Do not edit.
/** Runs a command. @returns the exit code. */
export declare function main(given: string[]): Promise<number>;
