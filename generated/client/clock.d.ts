// The runtime of the client (c7d928713a3acf57), compiled from packages/client/ of the toolkit. Do not edit.
export interface Clock {
    /** Milliseconds since 1970. */
    now(): number;
    /** Rejects with the signal's reason if it is aborted. */
    sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
    /** In [0, 1). */
    random(): number;
}
export declare const systemClock: Clock;
/**
 * Exponential backoff with full jitter: up to 0.5 s after the first failure, doubled each time, at most 8
 * s.
 */
export declare function backOff(failures: number, clock: Clock): number;
