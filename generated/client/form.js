// The runtime of the client (f5e2755647f19a15), compiled from packages/client/ of the toolkit. Do not edit.
// Encodes a form with files (RFC 7578). A Blob is read only when it is sent, and can be sent again; a stream
// is sent while it is read. Names are escaped as in
// https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data.
import { fieldsOf } from './form-fields.js';
import { isWebPage } from './environment.js';
import { collected, isStreamedFile, isUploadable, uploadOf } from './files.js';
/** The fields come before the files. undefined and null are left out; a list becomes repeated fields. */
export async function encodeForm(type, body, encoding) {
    const boundary = `form-${randomText()}`;
    const sent = Object.entries(body).filter(([, value]) => value !== undefined && value !== null);
    const fields = fieldsOf(Object.fromEntries(sent), encoding, isUploadable);
    const parts = [];
    const text = (...lines) => void parts.push(new Blob(lines));
    const sizes = [];
    let start;
    for (const { name, value, type: fieldType } of fields) {
        const head = `--${boundary}\r\nContent-Disposition: form-data; name="${escaped(name)}"`;
        if (typeof value === 'string') {
            text(head, fieldType === undefined ? '' : `\r\nContent-Type: ${fieldType}`, `\r\n\r\n${value}\r\n`);
            continue;
        }
        const given = uploadOf(value);
        const file = isStreamedFile(given) && isWebPage() ? await collected(given) : given;
        const filename = file.name ?? (typeof body.name === 'string' ? body.name : name);
        const media = file.type || encoding[name]?.contentType?.split(',')[0].trim();
        text(`${head}; filename="${escaped(filename)}"\r\nContent-Type: ${mediaOf(media)}\r\n\r\n`);
        start ??= sizeOf(parts);
        sizes.push(file.size ?? Infinity);
        parts.push(file);
        text('\r\n');
    }
    text(`--${boundary}--\r\n`);
    const length = sizeOf(parts);
    const encoded = {
        contentType: `${type.split(';')[0]}; boundary=${boundary}`,
        length: Number.isFinite(length) ? length : null,
        start: start ?? 0,
        size: sizes.reduce((sum, size) => sum + size, 0),
    };
    if (!parts.some(isStreamedFile))
        return { ...encoded, content: new Blob(parts) };
    let read = 0;
    const chunks = chunksOf(parts, (bytes) => (read += bytes));
    return { ...encoded, content: streamOf(chunks), read: () => read };
}
/** A range of types is none. */
function mediaOf(type) {
    return type === undefined || type.includes('*') ? 'application/octet-stream' : type;
}
function sizeOf(parts) {
    return parts.reduce((sum, { size = Infinity }) => sum + size, 0);
}
export function streamOf(chunks) {
    return new ReadableStream({
        async pull(controller) {
            const { done, value } = await chunks.next();
            if (done)
                controller.close();
            else
                controller.enqueue(value);
        },
        async cancel() {
            await chunks.return();
        },
    });
}
async function* chunksOf(parts, onRead) {
    for (const part of parts) {
        if (!isStreamedFile(part))
            yield new Uint8Array(await part.arrayBuffer());
        else
            for await (const chunk of part.content) {
                onRead(chunk.byteLength);
                yield chunk;
            }
    }
}
/** 32 random hexadecimal digits. `crypto.randomUUID` does not exist on pages without TLS. */
export function randomText() {
    return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
function escaped(text) {
    return text.replace(/\r\n|\r|\n/g, '%0D%0A').replaceAll('"', '%22');
}
