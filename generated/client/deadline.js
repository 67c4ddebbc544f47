// The runtime of the client (0fc0b431e707e5b0), compiled from packages/client/ of the toolkit. Do not edit.
import { TimeoutError } from './error.js';
/** @param timeout in milliseconds; null for no deadline. */
export function startDeadline(operation, timeout, clock, signal) {
    const late = new AbortController();
    const expire = () => late.abort(new TimeoutError(`${operation} took longer than ${timeout} ms.`, { operation }));
    const timer = timeout === null ? undefined : setTimeout(expire, timeout);
    const over = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]);
    return {
        signal: over,
        at: timeout === null ? Infinity : clock.now() + timeout,
        within: async (work) => {
            const ended = new Promise((_resolve, reject) => {
                if (over.aborted)
                    reject(over.reason);
                over.addEventListener('abort', () => reject(over.reason), { once: true });
            });
            return await Promise.race([work, ended]);
        },
        clear: () => clearTimeout(timer),
    };
}
