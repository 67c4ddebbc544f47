// The runtime of the client (7016be7ec267c06a), compiled from packages/client/ of the toolkit. Do not edit.
// The parameters of a request as text, by their style.
import { writeParameter } from './parameters.js';
/** @throws TypeError if a parameter of the path is missing or results in the path of another operation. */
export function encodeParameters(id, row, input = {}) {
    const [template, fixed = ''] = row.path.split('#')[0].split('?');
    const write = (where, values = {}) => Object.entries(values).flatMap(([name, value]) => value === undefined || value === null
        ? []
        : [[name, writeParameter(styleOf(row, where, name, value), value)]]);
    requirePath(id, row, template, input.path);
    const values = Object.fromEntries(write('path', input.path));
    const path = template.replace(/\{([^}]+)\}/g, (_, name) => values[name]);
    // URLs resolve these segments, also percent-encoded ones.
    if (/(^|\/)(\.|%2e){1,2}(\/|$)/i.test(path))
        throw new TypeError(`${id} cannot have \`.\` or \`..\` as a segment of its path: ${path}`);
    const cookies = write('cookie', input.cookies).map(([, text]) => text);
    return {
        path,
        query: [fixed, ...write('query', input.query).map(([, text]) => text)]
            .filter((text) => text !== '')
            .join('&'),
        headers: {
            ...Object.fromEntries(write('header', input.headers)),
            ...(cookies.length > 0 && { Cookie: cookies.join('; ') }),
        },
    };
}
function styleOf({ parameters = [] }, where, name, value) {
    const declared = parameters.find((each) => each.in === where && each.name === name);
    if (declared !== undefined)
        return declared;
    const inQuery = where === 'query' || where === 'cookie';
    const kind = Array.isArray(value) ? 'array' : typeof value === 'object' ? 'object' : 'primitive';
    return { in: where, name, style: inQuery ? 'form' : 'simple', explode: inQuery, kind };
}
/** An empty parameter would result in the path of another operation. */
function requirePath(id, row, template, values = {}) {
    for (const [, name] of template.matchAll(/\{([^}]+)\}/g)) {
        const value = values[name];
        const isStyled = row.parameters?.some((each) => each.in === 'path' && each.name === name) === true;
        const isText = ['string', 'number', 'boolean'].includes(typeof value) && value !== '';
        const isList = Array.isArray(value) && value.length > 0;
        if (!isText && !isList && !(isStyled && typeof value === 'object' && value !== null))
            throw new TypeError(`${id} requires the path parameter ${name}, a string.`);
    }
}
