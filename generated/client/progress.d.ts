// The runtime of the client (6a31aaf9c0558f69), compiled from packages/client/ of the toolkit. Do not edit.
import type { Transport } from './retry.js';
export interface Progress {
    /** Sent bytes of the file; never decreases. */
    sent: number;
    /** The size of the file in bytes; Infinity for a stream of unknown size. */
    total: number;
}
export interface UploadBody {
    content: Blob | ReadableStream<Uint8Array>;
    /** The length of the body in bytes; null if unknown. */
    length: number | null;
    /** The offset of the file in the body. */
    start: number;
    /** The size of the file; Infinity if unknown. */
    size: number;
    /** The bytes of the file that have been read so far, if it is a stream. */
    read?: () => number;
}
/**
 * @param report receives the sent bytes of the file, at least once, and all of them after a success, if the
 * size is known.
 */
export declare function withProgress(fetch: Transport, body: UploadBody, report: (sent: number) => void): Transport;
