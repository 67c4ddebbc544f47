// The runtime of the client (d09da69fd01ba1d2), compiled from packages/client/ of the toolkit. Do not edit.
// Resumable uploads (tus 1.0.0). After a network error, or in a later run that knows the upload's id, the
// client asks the server for the offset and continues from there.
import { backOff } from './clock.js';
import { ConnectionError, ClientError, withAbortError } from './error.js';
import { isStreamedFile, uploadOf } from './files.js';
const version = { 'Tus-Resumable': '1.0.0' };
/** @returns the completed upload, with its `file_id`. */
export async function uploadResumably(methods, content, options, clock) {
    const file = uploadOf(content);
    if (isStreamedFile(file))
        throw new TypeError('A stream cannot be read again, so its upload cannot resume. Use `fileFrom(path)`, or `uploadFile`.');
    return await upload(methods, file, options, clock).catch((error) => {
        throw withAbortError(error, options.signal);
    });
}
async function upload(methods, file, options, clock) {
    const { signal, pieceSize = file.size, retries = 10 } = options;
    const total = file.size;
    let max = -1;
    const report = (sent) => {
        if (sent <= max)
            return;
        max = sent;
        options.onProgress?.({ sent, total });
    };
    let id = options.uploadId;
    let offset = null;
    if (id === undefined) {
        const { data } = await methods
            .createUpload({
            headers: {
                ...version,
                'Upload-Length': total,
                'Upload-Metadata': metadataOf(file, options.fields ?? {}),
            },
            signal,
        })
            .withResponse();
        id = data.id;
        options.onCreated?.(id);
        offset = 0;
    }
    let failures = 0;
    for (;;) {
        const from = offset ?? (await offsetOf(methods, id, signal));
        report(from);
        if (from >= total)
            return (await methods.getUpload({ path: { id }, signal }).withResponse()).data;
        try {
            const body = file.slice(from, Math.min(total, from + pieceSize));
            const { response } = await methods
                .appendUpload({
                path: { id },
                headers: { ...version, 'Upload-Offset': from },
                body,
                signal,
                onProgress: ({ sent }) => report(Math.min(from + sent, total - 1)),
            })
                .withResponse();
            offset = Number(response.headers.get('upload-offset'));
            failures = 0;
        }
        catch (error) {
            if (!canResume(error) || failures >= retries)
                throw error;
            const seconds = error instanceof ClientError ? error.retryAfter : null;
            await clock.sleep(seconds === null ? backOff(failures, clock) : seconds * 1000, signal);
            offset = await offsetOf(methods, id, signal);
            failures = offset > from ? 0 : failures + 1;
        }
    }
}
async function offsetOf(methods, id, signal) {
    const { response } = await methods.getUpload({ path: { id }, headers: version, signal }).withResponse();
    return Number(response.headers.get('upload-offset'));
}
/** 409: the server is still processing the previous request, or the offset has changed. */
function canResume(error) {
    return (error instanceof ConnectionError ||
        (error instanceof ClientError && [408, 409, 429, 502, 503, 504].includes(error.status ?? 0)));
}
/** tus `Upload-Metadata`: pairs of a key and a Base64 value. */
function metadataOf(file, fields) {
    const all = {
        ...(!('name' in fields) && { filename: file.name ?? 'file' }),
        ...(file.type !== '' && { filetype: file.type }),
        ...fields,
    };
    return Object.entries(all)
        .filter(([, value]) => value !== undefined && value !== null)
        .map(([key, value]) => `${key} ${base64(typeof value === 'string' ? value : JSON.stringify(value))}`)
        .join(',');
}
function base64(text) {
    return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}
