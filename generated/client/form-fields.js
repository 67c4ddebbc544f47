// The runtime of the client (475844c92973ae60), compiled from packages/client/ of the toolkit. Do not edit.
// The fields of a form and how they are sent (OpenAPI 3.1, 4.8.15). Imports only media types: generated
// clients have a copy.
import { isJson } from './media-types.js';
/** How a property of a form is styled and whether it is exploded; null if it is sent by its content type. */
export function styleOf({ style, explode, allowReserved } = {}) {
    if (style === undefined && explode === undefined && allowReserved === undefined)
        return null;
    return { style: style ?? 'form', explode: explode ?? (style ?? 'form') === 'form' };
}
/** The separators of the values of a list in one field, by style. */
export const separators = { spaceDelimited: ' ', pipeDelimited: '|' };
/**
 * The fields of a form in sending order: files come last, objects are JSON, and lists are repeated fields.
 * @param encoding says otherwise for a property, by its style or content type
 */
export function fieldsOf(body, encoding, isFile) {
    return Object.entries(body)
        .flatMap(([name, value]) => fieldsFor(name, value, { encoding: encoding[name], isFile }))
        .sort((a, b) => Number(isFile(a.value)) - Number(isFile(b.value)));
}
function fieldsFor(name, value, { encoding = {}, isFile }) {
    const type = encoding.contentType?.split(',')[0].trim();
    // Only a field of JSON has the value null.
    if (value === null && !isJson(type ?? ''))
        return [];
    const styled = styleOf(encoding);
    if (styled?.style === 'deepObject')
        return deepFields(name, value);
    if (styled !== null && typeof value === 'object' && value !== null && !isFile(value))
        return styledFields(name, value, styled);
    return [value].flat().map((item) => {
        if (isFile(item))
            return { name, value: item };
        const isText = typeof item !== 'object' || item === null;
        if (type !== undefined && isJson(type))
            return { name, value: JSON.stringify(item), type };
        return { name, value: plain(item), type: isText ? type : 'application/json' };
    });
}
/** A list or an object by the style of its encoding. */
function styledFields(name, value, { style, explode }) {
    if (Array.isArray(value) && explode)
        return value.map((item) => ({ name, value: plain(item) }));
    if (explode)
        return Object.entries(value).map(([key, item]) => ({ name: key, value: plain(item) }));
    const items = Array.isArray(value) ? value : Object.entries(value).flat();
    return [{ name, value: items.map(plain).join(separators[style] ?? ',') }];
}
function deepFields(name, value) {
    if (typeof value !== 'object' || value === null)
        return [{ name, value: plain(value ?? '') }];
    return Object.entries(value).flatMap(([key, item]) => deepFields(`${name}[${key}]`, item));
}
function plain(value) {
    return typeof value === 'string' ? value : JSON.stringify(value);
}
