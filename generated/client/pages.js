// The runtime of the client (238d7ee256925f6d), compiled from packages/client/ of the toolkit. Do not edit.
// Iterates over lists. A page is requested when the previous one has been read. By a cursor it continues
// after its last item: every item that exists all along appears exactly once, also if the list changes in
// between.
import { throwIfAborted } from './error.js';
/** The pages of a list, starting with the page in the query. */
export async function* pagesOf(shape, input, fetchPage) {
    let next = input;
    while (next !== null) {
        throwIfAborted(input.signal);
        const result = await fetchPage(next);
        yield result.data;
        next = after(shape, next, result);
    }
}
/** The items of all pages. */
export async function* itemsOf(shape, input, fetchPage) {
    for await (const page of pagesOf(shape, input, fetchPage)) {
        for (const item of itemsIn(shape, page)) {
            throwIfAborted(input.signal);
            yield item;
        }
    }
}
function itemsIn({ items }, page) {
    const list = items === null ? page : valueAt(page, [items]);
    return Array.isArray(list) ? list : [];
}
const valueAt = (value, way) => way.reduce((at, key) => (Object.hasOwn(Object(at), key) ? at[key] : undefined), value);
/**
 * The input of the request for the page after this one; null if it is the last one, or if it would be the
 * same request again.
 */
function after(shape, input, result) {
    const { next, page: pageParameter } = shape;
    const { data } = result;
    const items = itemsIn(shape, data);
    const asking = (name, value) => {
        if (input.query?.[name] === value)
            return null;
        const query = { ...input.query, [name]: value };
        if (pageParameter !== undefined)
            delete query[pageParameter];
        return { ...input, query };
    };
    switch (next.by) {
        case 'cursor': {
            const cursor = valueAt(data, next.from) ?? '';
            if (cursor === '' || (next.more !== undefined && valueAt(data, next.more) !== true))
                return null;
            return asking(next.parameter, cursor);
        }
        case 'after': {
            const id = valueAt(items.at(-1), [next.id]);
            return valueAt(data, next.more) === true && id !== undefined ? asking(next.parameter, id) : null;
        }
        case 'link': {
            const url = next.from === undefined ? nextLink(result.response) : valueAt(data, next.from);
            if (typeof url !== 'string' || url === '')
                return null;
            const { search } = new URL(url, result.response.url || 'http://server/');
            return input.search === search.slice(1) ? null : { ...input, search: search.slice(1) };
        }
        default: {
            const asked = Number(input.query?.[next.limit ?? ''] ?? next.size ?? 1);
            // A server may answer a limit that is too high with the highest one.
            const limit = Math.min(asked, next.maximum ?? asked);
            if (items.length < Math.max(1, limit))
                return null;
            const now = Number(input.query?.[next.parameter] ?? next.first);
            return asking(next.parameter, now + (next.by === 'page' ? 1 : items.length));
        }
    }
}
function nextLink({ headers }) {
    for (const [, url, parameters] of (headers.get('link') ?? '').matchAll(/<([^>]*)>([^<]*)/g))
        if (/;\s*rel="?[^";]*\bnext\b/i.test(parameters))
            return url;
    return undefined;
}
/**
 * The first page as a promise. As an iterator it yields the items of all pages, `pages()` the pages; both
 * start with the page that has been requested.
 */
export function listAnswer(shape, input, first, fetchPage) {
    const fetching = () => {
        // The loop reports a failure; the promise, which nobody awaits then, must not be an unhandled rejection.
        first.answer.catch(() => { });
        let requested = first.result;
        return (next) => {
            const page = requested ?? fetchPage(next);
            requested = undefined;
            return page;
        };
    };
    return Object.assign(first.answer, {
        [Symbol.asyncIterator]: () => itemsOf(shape, input, fetching()),
        pages: () => pagesOf(shape, input, fetching()),
    });
}
