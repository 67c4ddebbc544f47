// The runtime of the client (caa9a10ac87d5db7), compiled from packages/client/ of the toolkit. Do not edit.
/** A mistake of the user: its message is all that is printed. */
export declare class CommandError extends Error {
    name: string;
}
/** How a command prints. */
export interface Output {
    /** Prints JSON instead of text. */
    json: boolean;
}
/** Text without control characters, with which a file name or an answer could command the terminal. */
export declare function plain(text: string): string;
/** Prints a value: as one line of JSON, or as columns. */
export declare function print({ json }: Output, value: unknown, columns: unknown[]): void;
/** Notes for a person; standard output is for results. */
export declare function note(text: string): void;
/** Shows the progress of a transfer on a terminal, at most ten times a second, and removes it at the end. */
export declare function progressOf(name: string): {
    report(sent: number, total: number): void;
    end(): void;
};
/** One line about an error, with the id of the request in the server's log. */
export declare function lineOf(error: unknown): string;
