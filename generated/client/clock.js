// The runtime of the client (03fb4fc22295ee3d), compiled from packages/client/ of the toolkit. Do not edit.
// Time and randomness, replaceable in tests.
export const systemClock = {
    now: () => Date.now(),
    random: () => Math.random(),
    sleep: (milliseconds, signal) => new Promise((resolve, reject) => {
        signal?.throwIfAborted();
        const stop = () => {
            clearTimeout(timer);
            reject(signal.reason);
        };
        const timer = setTimeout(() => {
            signal?.removeEventListener('abort', stop);
            resolve();
        }, milliseconds);
        signal?.addEventListener('abort', stop, { once: true });
    }),
};
/**
 * Exponential backoff with full jitter: up to 0.5 s after the first failure, doubled each time, at most 8
 * s.
 */
export function backOff(failures, clock) {
    return clock.random() * Math.min(8000, 500 * 2 ** failures);
}
