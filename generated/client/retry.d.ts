// The runtime of the client (19d28e51c73dcf8f), compiled from packages/client/ of the toolkit. Do not edit.
import { type Clock } from './clock.js';
import { ConnectionError } from './error.js';
export type Transport = (request: Request) => Promise<Response>;
/** One attempt of a request. */
export interface LogEntry {
    /** The operationId. */
    operation: string;
    method: string;
    /** Without the query, which may have a key. */
    url: string;
    /** 1 for the first attempt of a call. */
    attempt: number;
    /** null if there was no response. */
    status: number | null;
    /** Identifies the request in the server's log. */
    requestId: string | null;
    /** Until the response, with its body unless it is a stream or a download. */
    milliseconds: number;
    /** Milliseconds until the next attempt; null if this was the last one. */
    retryIn: number | null;
    /** Why there was no response. */
    error: ConnectionError | null;
}
export interface RetryOptions {
    /** The operationId, for the log. */
    operation: string;
    log: ((entry: LogEntry) => void) | undefined;
    transport: Transport;
    /** The maximum number of retries. */
    retries: number;
    /** No retry starts after this time, in milliseconds since 1970. */
    until: number;
    clock: Clock;
    /** Whether to read the whole body, so that a connection lost in between is retried. */
    readBody: boolean;
    /** The headers that make a repeated request harmless. */
    idempotencyHeaders: string[];
    /** Whether a 409 says that an earlier attempt with the same idempotency key is still running. */
    isInProgress?: (body: any) => boolean;
}
type Input = string | URL | Request;
/** A request that keeps its constructor arguments, to create a new request for each attempt. */
export declare class RepeatableRequest extends Request {
    #private;
    constructor(input: Input, init?: RequestInit);
    /** The same request for another URL. */
    at(url: string): RepeatableRequest;
    /** A copy with the current headers; null if the body is a stream, which can be sent only once. */
    copy(): Request | null;
}
/**
 * @throws ConnectionError if the last attempt has no response; the signal's reason if the request is aborted.
 */
export declare function sendWithRetries(request: Request, options: RetryOptions): Promise<Response>;
export {};
