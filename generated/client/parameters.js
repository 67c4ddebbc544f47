// The runtime of the client (784e4c7af38ba511), compiled from packages/client/ of the toolkit. Do not edit.
import { groupBy } from './group-by.js';
/**
 * The values are texts, lists of texts and objects of texts. A missing or malformed parameter has no value.
 */
export function readParameters(declared, raw) {
    const query = pairsOf(raw.query, '&', true);
    const cookies = pairsOf(headerText(raw.headers.cookie) ?? '', /; */, false);
    const read = { path: {}, query: {}, header: {}, cookie: {}, notJson: [] };
    const claimed = new Set(declared.filter((each) => each.in === 'query').map(({ name }) => name));
    const taken = new Set();
    for (const parameter of declared) {
        const name = parameter.in === 'header' ? parameter.name.toLowerCase() : parameter.name;
        const value = parameter.in === 'query'
            ? fromPairs(parameter, query, claimed, taken)
            : parameter.in === 'cookie'
                ? fromPairs(parameter, withinCookies(parameter, cookies), new Set(), new Set())
                : parameter.in === 'header'
                    ? fromList(parameter, headerText(raw.headers[name]), (text) => text.trim())
                    : fromPath(parameter, raw.path[name]);
        if (value === undefined)
            continue;
        if (!parameter.isJson)
            setOwn(read[parameter.in], name, parameter.hasObjects === true ? withObjects(value) : value);
        else
            try {
                setOwn(read[parameter.in], name, JSON.parse(String(value)));
            }
            catch {
                read.notJson.push(parameter);
            }
    }
    for (const [name, pairs] of groupBy(query.filter((pair) => !taken.has(pair)), ([each]) => each)) {
        const texts = pairs.map(([, text]) => decoded(text, true));
        if (!Object.hasOwn(read.query, name))
            setOwn(read.query, name, texts.length === 1 ? texts[0] : texts);
    }
    return read;
}
/** OpenAPI leaves open how an object inside of a value is written. Here it is JSON. */
function withObjects(value) {
    if (Array.isArray(value))
        return value.map(withObjects);
    if (typeof value === 'object' && value !== null)
        return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withObjects(each)]));
    if (typeof value !== 'string' || !value.startsWith('{'))
        return value;
    try {
        return JSON.parse(value);
    }
    catch {
        return value;
    }
}
/**
 * What a request has for a parameter: a part of the path, `name=value` of the query or of `Cookie`, or a
 * field.
 */
export function writeParameter(parameter, given) {
    const { in: where, name, style, explode, kind, isJson, allowReserved = false } = parameter;
    const encode = (value) => {
        if (where === 'header')
            return plain(value);
        const text = encoded(plain(value), allowReserved && where === 'query' && kind === 'primitive');
        return style === 'label' ? text.replaceAll('.', '%2E') : text;
    };
    const key = where === 'query' || where === 'cookie' ? encoded(name, false) : name;
    if (isJson) {
        const text = encode(JSON.stringify(given));
        return where === 'query' || where === 'cookie' ? `${key}=${text}` : text;
    }
    const value = kind === 'array' ? [given].flat() : given;
    const isObject = kind === 'object' && typeof value === 'object' && value !== null;
    const entries = isObject
        ? Object.entries(value).flatMap(([property, each]) => each === undefined ? [] : [[encode(property), encode(each)]])
        : [];
    const items = Array.isArray(value) ? value.map(encode) : isObject ? [] : [encode(value)];
    const flat = isObject ? entries.flat() : items;
    const assigned = entries.map((pair) => pair.join('='));
    if (where === 'path' || where === 'header') {
        if (style === 'label')
            return `.${(explode ? [...items, ...assigned] : flat).join(explode ? '.' : ',')}`;
        if (style === 'matrix') {
            if (explode && isObject)
                return assigned.map((each) => `;${each}`).join('');
            const texts = explode ? items : [flat.join(',')];
            return texts.map((text) => (text === '' ? `;${name}` : `;${name}=${text}`)).join('');
        }
        return (explode && isObject ? assigned : flat).join(',');
    }
    const between = where === 'query' ? '&' : style === 'cookie' ? '; ' : '&';
    if (style === 'deepObject' && isObject)
        return Object.entries(value)
            .flatMap(([property, each]) => [each].flat().map((item) => `${encoded(`${name}[${property}]`, false)}=${encode(item)}`))
            .join(between);
    if (explode)
        return (isObject ? assigned : items.map((item) => `${key}=${item}`)).join(between);
    return `${key}=${flat.join(delimiters[style] ?? ',')}`;
}
/** The delimiters of lists in a query, as they are written. */
const delimiters = { spaceDelimited: '%20', pipeDelimited: '%7C' };
function fromPath(parameter, text) {
    if (text === undefined)
        return undefined;
    const { style, explode, kind, name } = parameter;
    const decode = (each) => decoded(each);
    if (style === 'label')
        return text.startsWith('.') ? fromList(parameter, text.slice(1), decode, explode ? '.' : ',') : undefined;
    if (style !== 'matrix')
        return fromList(parameter, text, decode);
    if (!text.startsWith(';'))
        return undefined;
    const pairs = pairsOf(text.slice(1), ';', false);
    if (explode && kind === 'object')
        return objectOf(pairs, decode);
    const own = pairs.filter(([each]) => each === name);
    if (own.length === 0 || own.length < pairs.length)
        return undefined;
    if (explode && kind === 'array')
        return own.map(([, each]) => decode(each));
    return own.length === 1 ? fromList({ ...parameter, explode: false }, own[0][1], decode) : undefined;
}
/** A value of the style `simple`, or what follows the prefix of another style. */
function fromList({ kind, explode, isText, orPrimitive }, text, decode, separator = ',') {
    if (text === undefined)
        return undefined;
    if (kind === 'primitive')
        return decode(text);
    let parts = text === '' ? [] : text.split(separator);
    // A client that encodes the whole list: harmless where no value can have a comma.
    if (parts.length === 1 && isText !== true)
        parts = decode(text).split(separator === ',' && !text.includes(',') && text.includes('.') ? /[.,]/ : separator);
    const values = parts.map(decode);
    if (kind === 'array')
        return orPrimitive === true && values.length === 1 ? values[0] : values;
    if (explode)
        return objectOf(parts.map((part) => pairOf(part)), decode);
    return values.length % 2 === 1
        ? undefined
        : Object.fromEntries(values.flatMap((value, i) => (i % 2 === 0 ? [[value, values[i + 1]]] : [])));
}
/** A value in the query or in `Cookie`. */
function fromPairs(parameter, pairs, claimed, taken) {
    const { name, style, explode, kind, names = [], isOpen, orPrimitive } = parameter;
    const take = (matches) => {
        const found = pairs.filter((pair) => !taken.has(pair) && matches(pair[0]));
        for (const pair of found)
            taken.add(pair);
        return found;
    };
    const decode = (text) => decoded(text, parameter.in === 'query');
    if (kind === 'object' && style === 'deepObject') {
        const own = take((key) => key.startsWith(`${name}[`) && key.endsWith(']'));
        return own.length === 0
            ? undefined
            : objectOf(own.map(([key, text]) => [key.slice(name.length + 1, -1), text]), decode);
    }
    if (kind === 'object' && explode) {
        const own = take((key) => names.includes(key) || (isOpen === true && !claimed.has(key)));
        return own.length === 0 ? undefined : objectOf(own, decode);
    }
    const own = take((key) => key === name);
    if (own.length === 0)
        return undefined;
    const texts = own.map(([, text]) => text);
    if (kind === 'primitive' || (explode && kind === 'array')) {
        const values = texts.map(decode);
        return values.length === 1 && (kind === 'primitive' || orPrimitive === true) ? values[0] : values;
    }
    const [text] = texts;
    if (texts.length > 1)
        return kind === 'array' ? texts.map(decode) : undefined;
    const separated = style === 'spaceDelimited'
        ? text.replace(/%20|\+| /g, ',')
        : style === 'pipeDelimited'
            ? text.replace(/%7C|\|/gi, ',')
            : text;
    if (separated === text || style === 'form')
        return fromList(parameter, text, decode);
    // A comma is a part of the value here.
    const parts = text.split(style === 'spaceDelimited' ? /%20|\+| / : /%7C|\|/i);
    return fromList(parameter, parts.map((part) => part.replaceAll(',', '%2C')).join(','), decode);
}
/** Cookies of a list or an object of the style `form`, which are parted by `&`. */
function withinCookies({ kind, explode, style, name, names = [] }, cookies) {
    if (kind === 'primitive' || !explode || style === 'cookie')
        return cookies;
    return cookies.flatMap(([key, text]) => key === name || names.includes(key) ? pairsOf(`${key}=${text}`, '&', false) : [[key, text]]);
}
function pairsOf(text, separator, plus) {
    return text
        .split(separator)
        .filter((part) => part !== '')
        .map((part) => {
        const [name, value] = pairOf(part);
        return [decoded(name, plus), value];
    });
}
function pairOf(part) {
    const at = part.indexOf('=');
    return at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)];
}
/** A name that is sent more than once has a list. */
function objectOf(pairs, decode) {
    return Object.fromEntries([...groupBy(pairs, ([name]) => decode(name))].map(([name, own]) => {
        const texts = own.map(([, text]) => decode(text));
        return [name, texts.length === 1 ? texts[0] : texts];
    }));
}
/** Also for `__proto__`, which an assignment would not set. */
function setOwn(target, name, value) {
    Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
}
const headerText = (field) => Array.isArray(field) ? field.join(', ') : field;
const plain = (value) => value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);
/** Malformed escapes stay as they are. */
export function decoded(text, plus = false) {
    const spaced = plus ? text.replaceAll('+', ' ') : text;
    try {
        return decodeURIComponent(spaced);
    }
    catch {
        return spaced;
    }
}
/**
 * Percent-encoded but for unreserved characters, and with `allowReserved` the reserved ones that delimit
 * nothing.
 */
function encoded(text, allowReserved) {
    const strict = encodeURIComponent(text.toWellFormed()).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
    return allowReserved
        ? strict.replace(/%(?:2F|3A|3F|40|21|24|27|28|29|2A|2C|3B|3D)/g, (escape) => decodeURIComponent(escape))
        : strict;
}
