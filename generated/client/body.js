// The runtime of the client (da94e59cb02d8c40), compiled from packages/client/ of the toolkit. Do not edit.
// Encodes the body of a request.
import { concreteType, essenceOf, isJson, isRange } from './media-types.js';
import { fieldsOf } from './form-fields.js';
import { collected, isStreamedFile, isUploadable, uploadOf } from './files.js';
import { encodeForm, streamOf } from './form.js';
import { isWebPage } from './environment.js';
const isForm = ({ type }) => essenceOf(type).startsWith('multipart/');
/** @param contentType one of the media types of the operation. Default: the one that fits the body. */
export async function encodeBody({ media = [{ type: 'application/json' }] }, body, contentType) {
    if (body === undefined)
        return {};
    const chosen = contentType === undefined
        ? mediaFor(media, body)
        : (media.find(({ type }) => type === contentType) ?? { type: contentType });
    const { encoding = {} } = chosen;
    const type = isRange(chosen.type) ? concreteOf(chosen.type, body) : chosen.type;
    if (isForm(chosen)) {
        for (const name of chosen.files ?? [])
            requireFiles(body[name]);
        const upload = await encodeForm(type, body, encoding);
        return { body: upload.content, type: upload.contentType, upload };
    }
    if (isUploadable(body))
        return await rawBody(type, body);
    if (essenceOf(type) === 'application/x-www-form-urlencoded')
        return { body: urlEncoded(body, encoding), type };
    if (typeof body === 'string' && !isJson(type))
        return { body, type };
    return { body: JSON.stringify(body), type };
}
/** @throws TypeError if the value is neither a file nor a list of files. */
function requireFiles(value) {
    for (const each of [value].flat())
        if (!isUploadable(each))
            uploadOf(each);
}
/** A file as it is, or a form with a file; otherwise the first media type, which is JSON if there is any. */
function mediaFor(media, body) {
    const isOther = ({ type }) => !isJson(type) && !isForm({ type }) && essenceOf(type) !== 'application/x-www-form-urlencoded';
    const hasFile = typeof body === 'object' && body !== null && Object.values(body).flat().some(isUploadable);
    const fitting = isUploadable(body) ? media.find(isOther) : hasFile ? media.find(isForm) : undefined;
    return fitting ?? media[0];
}
function concreteOf(range, body) {
    const own = body instanceof Blob || isStreamedFile(body) ? body.type : '';
    return own === '' ? concreteType(range, {}) : own;
}
async function rawBody(type, body) {
    const given = uploadOf(body);
    const file = isStreamedFile(given) && isWebPage() ? await collected(given) : given;
    const size = file.size ?? Infinity;
    const about = { length: Number.isFinite(size) ? size : null, start: 0, size };
    if (!isStreamedFile(file))
        return { body: file, type, upload: { content: file, ...about } };
    let read = 0;
    const content = streamOf(counted(file.content, (bytes) => (read += bytes)));
    return { body: content, type, upload: { content, ...about, read: () => read } };
}
async function* counted(chunks, onRead) {
    for await (const chunk of chunks) {
        onRead(chunk.byteLength);
        yield chunk;
    }
}
function urlEncoded(body, encoding = {}) {
    const sent = Object.entries(body).filter(([, value]) => value !== undefined && value !== null);
    const fields = fieldsOf(Object.fromEntries(sent), encoding, isUploadable);
    const pairs = fields.map(({ name, value }) => [name, String(value)]);
    return new URLSearchParams(pairs).toString();
}
