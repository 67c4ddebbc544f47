// The runtime of the client (564462646e8a4f35), compiled from packages/client/ of the toolkit. Do not edit.
/**
 * @param alternatives the names of the schemes that the operation accepts; the first alternative with all
 * its credentials is used.
 * @returns the request, or a new one if its URL has changed.
 */
export async function withCredentials(request, alternatives, { auth, schemes }) {
    const has = (name) => auth[name] !== undefined && auth[name] !== null;
    const chosen = alternatives.find((names) => names.length > 0 && names.every(has)) ?? [];
    let result = request;
    for (const name of chosen) {
        const place = schemes[name];
        const given = auth[name];
        const secret = typeof given === 'function' ? await given() : given;
        result = put(result, place, textOf(secret, place.scheme));
    }
    return result;
}
function put(request, { in: where, name }, text) {
    const { headers } = request;
    if (where === 'header' && !headers.has(name))
        headers.set(name, text);
    if (where === 'cookie') {
        const cookie = `${encodeURIComponent(name)}=${encodeURIComponent(text)}`;
        headers.set('cookie', [headers.get('cookie'), cookie].filter((each) => each !== null).join('; '));
    }
    if (where !== 'query')
        return request;
    const url = new URL(request.url);
    const parameter = `${encodeURIComponent(name)}=${encodeURIComponent(text)}`;
    url.search = url.search === '' ? parameter : `${url.search}&${parameter}`;
    return request.at(url.href);
}
function textOf(secret, scheme) {
    if (typeof secret !== 'string') {
        const bytes = new TextEncoder().encode(`${secret.username}:${secret.password}`);
        return `Basic ${btoa(String.fromCharCode(...bytes))}`;
    }
    return scheme === 'bearer' ? `Bearer ${secret}` : secret;
}
