// The runtime of the client (3206118b1ef962f4), compiled from packages/client/ of the toolkit. Do not edit.
// The files that uploads accept: Blobs, bytes, streams, and files on disk.
/** Bytes, a Blob or a stream as a file with a name and a media type. */
export function toFile(content, name, properties = {}) {
    const { type = typeOf(content), size } = properties;
    const known = name ?? nameOf(content);
    if (content instanceof Blob)
        return new File([content], known ?? 'file', { type });
    if (content instanceof ArrayBuffer || ArrayBuffer.isView(content))
        return new File([content], known ?? 'file', { type });
    if (isStreamedFile(content))
        return { ...content, name: known ?? 'file', type, size: size ?? content.size };
    if (content instanceof ReadableStream || Symbol.asyncIterator in Object(content))
        return { name: known ?? 'file', type, size, content: chunksOf(content) };
    throw new TypeError(`A file must be a Blob, bytes or a stream, not ${content === null ? 'null' : `a ${typeof content}`}.` +
        (typeof content === 'string' ? ' To upload a file on disk, use `await fileFrom(path)`.' : ''));
}
/** A file on disk, by its path, in Node.js. Uploads read it while they send it, and can send it again. */
export async function fileFrom(path, { name, type = '' } = {}) {
    const { process } = globalThis;
    const fs = process?.getBuiltinModule?.('fs');
    if (fs?.openAsBlob === undefined)
        throw new TypeError('`fileFrom` needs Node.js 20.16 or later. Pass a Blob or a File instead.');
    return new File([await fs.openAsBlob(path)], name ?? path.split(/[\\/]/).at(-1), { type });
}
/** A Blob as it is; bytes as a Blob; a stream as a streamed file. */
export function uploadOf(content) {
    return content instanceof Blob ? content : toFile(content);
}
/** Whether the value is a file. */
export function isUploadable(value) {
    return (value instanceof Blob ||
        value instanceof ArrayBuffer ||
        ArrayBuffer.isView(value) ||
        value instanceof ReadableStream ||
        isStreamedFile(value) ||
        (typeof value === 'object' && value !== null && Symbol.asyncIterator in value));
}
export function isStreamedFile(value) {
    if (typeof value !== 'object' || value === null || !('content' in value && 'name' in value))
        return false;
    return Symbol.asyncIterator in Object(value.content);
}
/** The whole stream as a Blob, for browsers, which cannot send streams over HTTP/1.1. */
export async function collected(file) {
    const parts = [];
    for await (const chunk of file.content)
        parts.push(chunk);
    return new File(parts, file.name, { type: file.type });
}
/** The name of a File, and of a stream that Node.js reads from a path. */
function nameOf(content) {
    const { name, path } = Object(content);
    if (typeof name === 'string' && name !== '')
        return name;
    return typeof path === 'string' ? path.split(/[\\/]/).at(-1) : undefined;
}
function typeOf(content) {
    return content instanceof Blob || isStreamedFile(content) ? content.type : '';
}
async function* chunksOf(stream) {
    const encoder = new TextEncoder();
    const chunks = Symbol.asyncIterator in stream ? stream : readerOf(stream);
    for await (const chunk of chunks)
        yield typeof chunk === 'string' ? encoder.encode(chunk) : chunk;
}
/** For browsers whose streams are not iterable. */
async function* readerOf(stream) {
    const reader = stream.getReader();
    try {
        for (;;) {
            const { done, value } = await reader.read();
            if (done)
                return;
            yield value;
        }
    }
    finally {
        await reader.cancel().catch(() => { });
    }
}
