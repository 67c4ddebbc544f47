// The runtime of the client (60fbe1eeb1febd4e), compiled from packages/client/ of the toolkit. Do not edit.
import { type Clock } from './clock.js';
export interface StreamedEvent {
    event: string;
    id: string | null;
    data: unknown;
}
export interface EventStreamOptions {
    /** The id of the last event that is known; null to start at the beginning. */
    after: string | null;
    /** Opens the stream, after the event with this id if there is one. */
    open(lastEventId: string | null, signal: AbortSignal): Promise<Response>;
    /** The events that end the stream; without any, a stream that cannot resume ends with its response. */
    ends: readonly string[];
    /** Whether the stream can resume. */
    resumes: boolean;
    /** Consecutive attempts to resume without receiving any data. */
    retries: number;
    /** Milliseconds without data, comments included, after which the connection counts as broken. */
    idleTimeout: number;
    clock: Clock;
    signal?: AbortSignal;
}
/** The first `next()` opens the stream. `return()`, which `break` calls, closes the connection at once. */
export declare function readEvents(options: EventStreamOptions): AsyncGenerator<StreamedEvent, void, undefined>;
