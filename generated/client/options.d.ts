// The runtime of the client (99a16b54f63e1432), compiled from packages/client/ of the toolkit. Do not edit.
import type { Auth, SchemePlace } from './auth.js';
import { type Clock } from './clock.js';
import type { LogEntry, Transport } from './retry.js';
export interface ClientOptions {
    /** The server's URL, with or without the path that the document gives it. Default: that of the document. */
    baseUrl?: string;
    /** The credentials by the names of the security schemes. */
    auth?: Auth;
    /** Header fields of all requests. */
    headers?: Record<string, string>;
    /** Replaces the global fetch. */
    fetch?: (request: Request) => Promise<Response>;
    /** Retries per call, if a second attempt has no second effect. Default 3. */
    retries?: number;
    /**
     * The time limit of a call in milliseconds, including all retries; for streams and downloads, until the
     * response headers. Default 120,000, and none for uploads. null: no limit.
     */
    timeout?: number | null;
    /** Called after each attempt of a request, for logs and metrics. The entry has no key and no body. */
    log?: (entry: LogEntry) => void;
    /** The User-Agent header. Browsers send their own. */
    userAgent?: string;
    /** Replaces the system clock, for tests. */
    clock?: Clock;
}
/** What the client knows of the API, from the document. */
export interface ApiInfo {
    userAgent: string;
    /** The path of the server. */
    prefix: string;
    /** The origin of the server, if the document names it. */
    origin?: string;
    schemes: Record<string, SchemePlace>;
    /** The security of operations without their own. */
    security: string[][];
    /** Whether a 409 says that an earlier attempt with the same idempotency key is still running. */
    isInProgress?: (body: any) => boolean;
}
/** The options with their defaults. */
export interface Settings {
    /** Without a trailing slash and without the prefix. */
    baseUrl: string;
    /** Whether the caller has set `baseUrl`. */
    hasBaseUrl: boolean;
    auth: Auth;
    headers: Record<string, string>;
    fetch: Transport;
    retries: number;
    /** undefined: the default of the operation. */
    timeout: number | null | undefined;
    log: ((entry: LogEntry) => void) | undefined;
    userAgent: string | undefined;
    clock: Clock;
}
/** @throws ConfigurationError */
export declare function settingsOf(options: ClientOptions, { prefix, origin }: ApiInfo): Settings;
