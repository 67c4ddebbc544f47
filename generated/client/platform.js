// The runtime of the client (6d63f5c96d7b99d8), compiled from packages/client/ of the toolkit. Do not edit.
// The options of the platform's client: one API key, and defaults from the environment.
import { fromEnvironment, isWebPage } from './environment.js';
import { ConfigurationError } from './error.js';
/** @throws ConfigurationError */
export function platformOptions({ apiKey: givenKey, dangerouslyAllowBrowser, ...options }) {
    const apiKey = givenKey === undefined ? fromEnvironment('PLATFORM_API_KEY') : givenKey;
    requireKey(apiKey);
    if (typeof apiKey === 'string' && isWebPage() && dangerouslyAllowBrowser !== true)
        throw new ConfigurationError('This is a web page, where every visitor can read the API key. Call the API from your server. ' +
            'If the key belongs to the visitor, set `dangerouslyAllowBrowser: true`.');
    const baseUrl = options.baseUrl ?? fromEnvironment('PLATFORM_BASE_URL');
    if (baseUrl === undefined)
        throw new ConfigurationError('The URL of the server is missing: set `baseUrl`, or the environment variable PLATFORM_BASE_URL.');
    return { ...options, baseUrl, auth: { apiKey } };
}
/** Whether an earlier attempt with the same key is still running; its response can then be replayed. */
export function isInProgress(body) {
    return body?.error?.details?.constraint === 'in_progress';
}
/** Refuses values that cannot be a key; the server checks others. The message does not contain the key. */
function requireKey(key) {
    if (key === undefined || key === null)
        return;
    const problem = typeof key !== 'string'
        ? `a ${typeof key}`
        : key === ''
            ? 'empty'
            : /^bearer\s/i.test(key)
                ? 'a header: leave out `Bearer`'
                : /[^\x21-\x7e]/.test(key)
                    ? 'invalid: it contains a space, a line break or another character that no key has'
                    : /^["']|["']$/.test(key)
                        ? 'in quotes'
                        : null;
    if (problem !== null)
        throw new ConfigurationError(`The API key is ${problem}. A key looks like plat_live_ and 49 characters.`);
}
