// The runtime of the client (7560503a35ca5e19), compiled from packages/client/ of the toolkit. Do not edit.
// Media types and their ranges, such as `image/*` (RFC 9110, 12.5.1). Imports nothing: generated servers
// have a copy.
/** Whether the media type is JSON: `application/json`, `application/problem+json`. */
export function isJson(type) {
    return /[/+]json$/.test(essenceOf(type));
}
/** Whether the media type is JSON values, one in each line. */
export function isJsonLines(type) {
    return /^application\/(x-)?(ndjson|jsonl|json-lines)$/.test(essenceOf(type));
}
/** Whether a body of the type is a sequence of items that a server sends one by one. */
export function hasItems(type) {
    return essenceOf(type) === 'text/event-stream' || isJsonLines(type);
}
export function isForm(type) {
    return ['multipart/form-data', 'application/x-www-form-urlencoded'].includes(essenceOf(type));
}
/** The media type without its parameters, in lower case. */
export function essenceOf(type) {
    return type.split(';')[0].trim().toLowerCase();
}
/** Whether it is a type or a range, as opposed to a key in the wrong place, such as `examples`. */
export function isMediaType(type) {
    return type.includes('/');
}
export function isRange(type) {
    return essenceOf(type).includes('*');
}
/** Whether the range, or the type itself, includes the media type. */
export function includesType(range, type) {
    const [whole, essence] = [essenceOf(range), essenceOf(type)];
    return (whole === essence || whole === '*/*' || (whole.endsWith('/*') && essence.startsWith(whole.slice(0, -1))));
}
/** The entry for a media type: the most specific of those that include it. */
export function mediaFor(media, type) {
    const specificity = ({ type: range }) => {
        const essence = essenceOf(range);
        return essence === '*/*' ? 0 : essence.endsWith('/*') ? 1 : 2;
    };
    return media
        .filter((each) => includesType(each.type, type))
        .toSorted((a, b) => specificity(b) - specificity(a))[0];
}
/** Whether a body of the schema is bytes: it says so, or says nothing. */
function isBytes(schema) {
    return (schema.format === 'binary' || schema.contentMediaType !== undefined || Object.keys(schema).length === 0);
}
/** The media type of an answer: a declared one itself, and a concrete one of a range. */
export function concreteType(range, schema) {
    const essence = essenceOf(range);
    if (!essence.includes('*'))
        return range;
    const application = isBytes(schema) ? 'application/octet-stream' : 'application/json';
    const known = {
        '*/*': application,
        'application/*': application,
        'text/*': 'text/plain',
        'image/*': 'image/png',
        'audio/*': 'audio/mpeg',
        'video/*': 'video/mp4',
    };
    return known[essence] ?? 'application/octet-stream';
}
