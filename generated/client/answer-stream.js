// The runtime of the client (604dd5b7af9f3306), compiled from packages/client/ of the toolkit. Do not edit.
// The stream of an answer, with its text and its final event. After a disconnect it resumes by the
// operation that the contract names (`x-stream-answer`).
import { ConnectionError, ClientError, streamErrorOf } from './error.js';
export function answerStream(sources) {
    const { operation, shape } = sources;
    const state = { text: '', final: undefined, failure: undefined };
    const events = recorded(resumed(sources), shape, operation, state);
    const drain = async () => {
        while (!(await events.next()).done)
            ;
    };
    return Object.assign(events, {
        async final() {
            await drain();
            if (state.failure !== undefined)
                throw state.failure;
            if (state.final === undefined)
                throw new ClientError('The stream was closed before the answer was complete.', { operation });
            return state.final;
        },
        async text() {
            await drain();
            if (state.failure !== undefined)
                throw state.failure;
            return state.text;
        },
        async *deltas() {
            for await (const { event, data } of events)
                if (event === shape.delta)
                    yield data.delta;
            if (state.failure !== undefined)
                throw state.failure;
        },
    });
}
/** Keeps what `final()` and `text()` return. */
async function* recorded(events, shape, operation, state) {
    for await (const event of events) {
        if (event.event === shape.delta)
            state.text += event.data.delta;
        if (event.event === shape.final)
            state.final = event.data;
        if (event.event === 'error')
            state.failure = streamErrorOf(operation, event.data);
        yield event;
    }
}
/** Continues with the other operation if the connection is lost after the answer has an id. */
async function* resumed({ shape, open, resume }) {
    let id;
    let last = null;
    try {
        for await (const event of open()) {
            if (event.event === shape.start)
                id = event.data.id;
            last = event.id;
            yield event;
        }
    }
    catch (error) {
        if (!(error instanceof ConnectionError) || id === undefined)
            throw error;
        yield* resume(id, last);
    }
}
