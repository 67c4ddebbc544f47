// The runtime of the client (eb15c7d043518922), compiled from packages/client/ of the toolkit. Do not edit.
import type { Uploadable } from './files.js';
import type { Progress } from './progress.js';
/** A body of raw bytes. */
export type BytesBody = Uploadable;
/** The options of every call. */
export interface CallOptions {
    /** Aborts the call, which then rejects with an AbortError. */
    signal?: AbortSignal;
    /** The time limit in milliseconds, including all retries; null for no limit. */
    timeout?: number | null;
    /** The number of retries. */
    retries?: number;
}
export interface UploadOptions extends CallOptions {
    /** Reports the progress of the upload. Browsers send the file by XMLHttpRequest then. */
    onProgress?: (progress: Progress) => void;
}
export interface StreamOptions extends CallOptions {
    /** Milliseconds without data after which the connection counts as broken. Default 60,000. */
    silence?: number;
}
/** A form whose fields of these names are files. */
export type WithFiles<Form, Names extends PropertyKey> = {
    [Name in keyof Form]: Name extends Names ? (NonNullable<Form[Name]> extends readonly unknown[] ? Uploadable[] : Uploadable) | Extract<Form[Name], undefined | null> : Form[Name];
};
/** The options of a call with the headers that the operation accepts. */
export type WithHeaders<Options, Headers> = Options & {
    /** Header fields of the request. */
    headers?: Headers;
};
/** The options of a call with the headers that the operation requires. */
export type WithRequiredHeaders<Options, Headers> = Options & {
    /** Header fields of the request. */
    headers: Headers;
};
/** A promise of the body. `withResponse()` also returns the response; it does not send the request again. */
export interface Answer<Data> extends Promise<Data> {
    withResponse(): Promise<{
        data: Data;
        response: Response;
    }>;
}
/** The first page as a promise, and the items of all pages as an async iterator. */
export interface ListAnswer<Page, Item> extends Answer<Page>, AsyncIterable<Item> {
    /** All pages, starting with the requested one. A page is requested when the previous one has been read. */
    pages(): AsyncGenerator<Page, void, undefined>;
}
export interface ListMethod<Input, Page, Item> {
    (input: Input): ListAnswer<Page, Item>;
    /** All items, starting with the given page. A page is requested when the previous one has been read. */
    all(input: Input): AsyncGenerator<Item, void, undefined>;
    /** All pages, starting with the given one. */
    pages(input: Input): AsyncGenerator<Page, void, undefined>;
}
/** A list without required parameters. */
export interface OptionalListMethod<Input, Page, Item> {
    (input?: Input): ListAnswer<Page, Item>;
    /** All items, starting with the given page. A page is requested when the previous one has been read. */
    all(input?: Input): AsyncGenerator<Item, void, undefined>;
    /** All pages, starting with the given one. */
    pages(input?: Input): AsyncGenerator<Page, void, undefined>;
}
/** A method that answers with events, too, if it is called as `stream`. */
export interface StreamingMethod<Input extends unknown[], Result, Stream> {
    (...input: Input): Result;
    stream(...input: Input): Stream;
}
/** An event with its data, discriminated by `event`. `id` is the `Last-Event-ID` to resume after it. */
export type StreamEvent<Events> = {
    [Name in keyof Events]: {
        event: Name;
        id: string | null;
        data: Events[Name];
    };
}[keyof Events];
/** The request is sent with the first event. Leaving the loop closes the connection. */
export type EventStream<Event> = AsyncGenerator<Event, void, undefined>;
