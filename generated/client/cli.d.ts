// The runtime of the client (439ebe0c893c538d), compiled from packages/client/ of the toolkit. Do not edit.
/** Runs a command. @returns the exit code. */
export declare function main(given: string[]): Promise<number>;
