// The runtime of the client (8eaedd7fd79cfd00), compiled from packages/client/ of the toolkit. Do not edit.
import type { Clock } from './clock.js';
export interface Deadline {
    /** Aborted at the deadline or by the caller's signal. */
    signal: AbortSignal;
    /** Milliseconds since 1970; Infinity if there is no deadline. */
    at: number;
    /** Rejects when the signal is aborted, even if the work ignores the signal. */
    within<T>(work: Promise<T>): Promise<T>;
    /** Stops the timer when the call is complete. The caller's signal stays in effect. */
    clear(): void;
}
/** @param timeout in milliseconds; null for no deadline. */
export declare function startDeadline(operation: string, timeout: number | null, clock: Clock, signal?: AbortSignal): Deadline;
