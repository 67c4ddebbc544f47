// The runtime of the client (e7efaa0c9ba72193), compiled from packages/client/ of the toolkit. Do not edit.
import type { StreamedEvent } from './events.js';
/** The events of a stream that are an answer. */
export interface AnswerShape {
    /** The first event; its data has the id of the answer. */
    start: string;
    /** The event whose `delta` is a piece of the text. */
    delta: string;
    /** The last event, whose data is the whole answer. */
    final: string;
    /** The operation that streams the answer again, by its id. */
    resume: string;
}
/** The events of an answer. The request is sent with the first event. `break` closes the connection. */
export interface AnswerStream<Event, Final> extends AsyncGenerator<Event, void, undefined> {
    /**
     * The whole answer, also after a loop over the events. Reads the events that are left.
     * @throws ClientError if the answer failed; its `code` says why.
     */
    final(): Promise<Final>;
    /** The whole text. Reads the events that are left. */
    text(): Promise<string>;
    /** The pieces of the text, as they arrive. */
    deltas(): AsyncGenerator<string, void, undefined>;
}
interface Sources {
    operation: string;
    shape: AnswerShape;
    /** Opens the stream. */
    open(): AsyncGenerator<StreamedEvent, void, undefined>;
    /** Opens it again after the event with this id. */
    resume(id: string, lastEventId: string | null): AsyncGenerator<StreamedEvent, void, undefined>;
}
export declare function answerStream(sources: Sources): AnswerStream<StreamedEvent, unknown>;
export {};
