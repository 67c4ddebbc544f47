// The runtime of the client (6c15f69fa08d79f8), compiled from packages/client/ of the toolkit. Do not edit.
import type { Encoding } from './form-fields.js';
import type { ParameterStyle } from './parameters.js';
import type { AnswerShape } from './answer-stream.js';
import type { ListShape } from './pages.js';
/** A row of the generated table of operations. */
export interface OperationRow {
    method: string;
    /** As in the document. */
    path: string;
    /** The server's prefix of the path. */
    prefix: string;
    /** The origin of a server of its own, which is used unless the client has a `baseUrl`. */
    origin?: string;
    /** The name by resource, such as `projects.members.add`, if it has one. */
    name?: string;
    /** Whether there is a body; otherwise whether there are query parameters. */
    body?: boolean;
    query?: boolean;
    /** The parameters that are not plain text: a list of repeated values in the query, commas elsewhere. */
    parameters?: ParameterStyle[];
    /** The kind of the success body; null if there is none. */
    answer: 'json' | 'text' | 'bytes' | 'events' | null;
    /** The media type to ask for, if there are others. */
    accept?: string;
    /** The media types of the request body, unless it is JSON only. */
    media?: BodyMedia[];
    /** The header that makes a repeated request harmless, such as `Idempotency-Key`. */
    idempotent?: string;
    list?: ListShape;
    /** Whether the operation answers with events, too, if a request asks for them. */
    streams?: boolean;
    /** The events that end a stream. */
    ends?: readonly string[];
    /** Whether a stream can resume with Last-Event-ID. */
    resumes?: boolean;
    /** The events of a stream that are an answer. */
    answers?: AnswerShape;
    /** The alternatives of which a request meets one: names of security schemes. Default: those of the API. */
    security?: string[][];
}
export interface BodyMedia {
    type: string;
    /** The required fields of a form that are files. */
    files?: string[];
    /** How the fields of a form are sent. */
    encoding?: Record<string, Encoding>;
}
