// The runtime of the client (8934674c7120ce40), compiled from packages/client/ of the toolkit. Do not edit.
import type { OperationRow } from './operation-row.js';
import type { UploadBody } from './progress.js';
export interface EncodedBody {
    body?: Blob | ReadableStream<Uint8Array> | string;
    type?: string;
    /** Of a file, or a form with files. */
    upload?: UploadBody;
}
/** @param contentType one of the media types of the operation. Default: the one that fits the body. */
export declare function encodeBody({ media }: OperationRow, body: unknown, contentType?: string): Promise<EncodedBody>;
