// The runtime of the client (6a5b1779826a4da4), compiled from packages/client/ of the toolkit. Do not edit.
/** A file that is sent while it is read. It can be sent only once, so the upload is not retried. */
export interface StreamedFile {
    name: string;
    /** The media type; empty if unknown. */
    type: string;
    /** The size in bytes, if known. */
    size?: number;
    content: AsyncIterable<Uint8Array>;
}
/**
 * A file to upload: a File or Blob, bytes (a Buffer too), or a stream of Node.js or the web. `toFile` gives
 * bytes and streams a name, and `fileFrom` opens a file on disk.
 */
export type Uploadable = Blob | ArrayBuffer | ArrayBufferView | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array | string> | StreamedFile;
export interface FileProperties {
    /** The media type, such as `application/pdf`. */
    type?: string;
    /** The size of a stream in bytes. The server then rejects a file that is too large at once. */
    size?: number;
}
/** Bytes, a Blob or a stream as a file with a name and a media type. */
export declare function toFile(content: Uploadable, name?: string, properties?: FileProperties): File | StreamedFile;
/** A file on disk, by its path, in Node.js. Uploads read it while they send it, and can send it again. */
export declare function fileFrom(path: string, { name, type }?: {
    name?: string;
    type?: string;
}): Promise<File>;
/** A Blob as it is; bytes as a Blob; a stream as a streamed file. */
export declare function uploadOf(content: Uploadable): (Blob & {
    name?: string;
}) | StreamedFile;
/** Whether the value is a file. */
export declare function isUploadable(value: unknown): value is Uploadable;
export declare function isStreamedFile(value: unknown): value is StreamedFile;
/** The whole stream as a Blob, for browsers, which cannot send streams over HTTP/1.1. */
export declare function collected(file: StreamedFile): Promise<File>;
