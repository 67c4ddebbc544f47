// The runtime of the client (f191dcb8e7621681), compiled from packages/client/ of the toolkit. Do not edit.
import type { PlatformClient } from './index.js';
import { type Output } from './cli-io.js';
export interface ChatOptions extends Output {
    knowledgeBases?: string[];
    session?: string;
    model?: string;
}
/** Prints the answer while it is written. */
export declare function chat(client: PlatformClient, message: string, options: ChatOptions): Promise<void>;
export interface EventOptions extends Output {
    types?: string[];
    project?: string;
    after?: string;
}
/** Prints each event as it happens. The last column is the position, for `--after`. */
export declare function tailEvents(client: PlatformClient, options: EventOptions): Promise<void>;
export interface ListenOptions extends EventOptions {
    forwardTo: string;
    secret?: string;
}
/** Sends each event as a signed webhook to a local address; the server needs no way to reach it. */
export declare function listen(client: PlatformClient, options: ListenOptions): Promise<void>;
