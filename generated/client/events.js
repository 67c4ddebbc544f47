// The runtime of the client (65cc89f49936f935), compiled from packages/client/ of the toolkit. Do not edit.
// Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html) as an async iterator.
// After a disconnect the stream resumes if the operation accepts Last-Event-ID; otherwise it fails.
import { createParser } from './eventsource-parser.js';
import { backOff } from './clock.js';
import { ConnectionError, throwIfAborted, withAbortError } from './error.js';
/** The first `next()` opens the stream. `return()`, which `break` calls, closes the connection at once. */
export function readEvents(options) {
    const closed = new AbortController();
    const events = read(options, closed.signal);
    return {
        next: () => events.next().catch((error) => {
            throw withAbortError(error, options.signal);
        }),
        throw: (error) => {
            closed.abort();
            return events.throw(error);
        },
        return: (value) => {
            closed.abort();
            return events.return(value);
        },
        [Symbol.asyncIterator]() {
            return this;
        },
        async [Symbol.asyncDispose]() {
            await this.return();
        },
    };
}
async function* read({ after, open, ends, resumes, retries, idleTimeout, clock, signal }, closed) {
    const state = { lastEventId: after, wait: null, failures: 0 };
    const stopped = signal === undefined ? closed : AbortSignal.any([signal, closed]);
    while (!closed.aborted) {
        let cause;
        try {
            const response = await open(state.lastEventId, stopped);
            for await (const { event = 'message', data } of messagesOf(response, { idleTimeout, stopped, state })) {
                throwIfAborted(signal);
                yield { event, id: state.lastEventId, data: jsonOrText(data) };
                if (ends.includes(event))
                    return;
            }
            if (ends.length === 0 && !resumes)
                return;
        }
        catch (error) {
            if (closed.aborted)
                return;
            throwIfAborted(signal);
            if (!(error instanceof TypeError || error instanceof ConnectionError))
                throw error;
            cause = error;
        }
        if (!resumes || state.failures >= retries)
            throw new ConnectionError('The connection was lost before the stream ended.', { cause });
        await clock.sleep(state.wait ?? backOff(state.failures, clock), stopped).catch((error) => {
            if (!closed.aborted)
                throw error;
        });
        state.failures++;
    }
}
function jsonOrText(data) {
    try {
        return JSON.parse(data);
    }
    catch {
        return data;
    }
}
async function* messagesOf(response, { idleTimeout, stopped, state }) {
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    const waiting = [];
    const parser = createParser({
        onEvent: (message) => {
            waiting.push(message);
        },
        onId: (id) => {
            waiting.push({ id });
        },
        onRetry: (wait) => {
            state.wait = wait;
        },
    });
    try {
        for (;;) {
            const { value, done } = await readWithin(reader, idleTimeout, stopped);
            if (done)
                return;
            state.failures = 0;
            parser.feed(decoder.decode(value, { stream: true }));
            for (const message of waiting.splice(0)) {
                // An id may arrive without an event; the id of an event arrives before the event.
                if (message.data === undefined)
                    state.lastEventId = message.id;
                else
                    yield message;
            }
        }
    }
    finally {
        await reader.cancel().catch(() => { });
    }
}
/**
 * @throws TypeError, as for a broken connection, after the idle time-out; the signal's reason when it is
 * aborted.
 */
async function readWithin(reader, idleTimeout, stopped) {
    let reject;
    const failure = new Promise((_resolve, fail) => {
        reject = fail;
    });
    const timer = setTimeout(() => reject(new TypeError(`no data for ${idleTimeout} ms`)), idleTimeout);
    const stop = () => reject(stopped.reason);
    stopped.addEventListener('abort', stop, { once: true });
    try {
        stopped.throwIfAborted();
        return await Promise.race([reader.read(), failure]);
    }
    finally {
        clearTimeout(timer);
        stopped.removeEventListener('abort', stop);
    }
}
