// The runtime of the client (af220ef10c0402e9), compiled from packages/client/ of the toolkit. Do not edit.
import { type Clock } from './clock.js';
import { type Uploadable } from './files.js';
import type { Progress } from './progress.js';
export interface ResumableOptions<Fields> {
    /** The file's name and other fields, as for `uploadFile`. */
    fields?: Fields;
    /** An earlier upload to resume. */
    uploadId?: string;
    /** Called with the id of the new upload, for resuming it in a later run. */
    onCreated?: (uploadId: string) => void;
    /** Reports the progress of the upload. */
    onProgress?: (progress: Progress) => void;
    signal?: AbortSignal;
    /** The bytes per request. Default: the whole file. */
    pieceSize?: number;
    /** Consecutive failures without progress before the upload fails. Default 10. */
    retries?: number;
}
/** The operations that an upload calls. */
export interface UploadMethods {
    createUpload(input: any): {
        withResponse(): Promise<{
            data: any;
            response: Response;
        }>;
    };
    getUpload(input: any): {
        withResponse(): Promise<{
            data: any;
            response: Response;
        }>;
    };
    appendUpload(input: any): {
        withResponse(): Promise<{
            data: any;
            response: Response;
        }>;
    };
}
/** @returns the completed upload, with its `file_id`. */
export declare function uploadResumably(methods: UploadMethods, content: Uploadable, options: ResumableOptions<Record<string, unknown>>, clock: Clock): Promise<unknown>;
