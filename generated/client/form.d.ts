// The runtime of the client (8dfa297694774d88), compiled from packages/client/ of the toolkit. Do not edit.
import { type Encoding } from './form-fields.js';
export interface EncodedForm {
    content: Blob | ReadableStream<Uint8Array>;
    contentType: string;
    /** The length of the form in bytes; null if unknown. */
    length: number | null;
    /** The offset of the first file in the form. */
    start: number;
    /** The size of the files; Infinity if unknown. */
    size: number;
    /** The bytes of the files that have been read so far, if any is a stream. */
    read?: () => number;
}
/** The fields come before the files. undefined and null are left out; a list becomes repeated fields. */
export declare function encodeForm(type: string, body: Record<string, unknown>, encoding: Record<string, Encoding>): Promise<EncodedForm>;
export declare function streamOf(chunks: AsyncGenerator<Uint8Array, void, undefined>): ReadableStream<Uint8Array>;
/** 32 random hexadecimal digits. `crypto.randomUUID` does not exist on pages without TLS. */
export declare function randomText(): string;
