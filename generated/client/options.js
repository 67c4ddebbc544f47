// The runtime of the client (df957db940eebc72), compiled from packages/client/ of the toolkit. Do not edit.
import { systemClock } from './clock.js';
import { ConfigurationError } from './error.js';
/** @throws ConfigurationError */
export function settingsOf(options, { prefix, origin }) {
    return {
        baseUrl: baseUrlOf(options.baseUrl ?? origin, prefix),
        hasBaseUrl: options.baseUrl !== undefined,
        auth: options.auth ?? {},
        headers: options.headers ?? {},
        fetch: options.fetch ?? ((request) => globalThis.fetch(request)),
        retries: options.retries ?? 3,
        timeout: options.timeout,
        log: options.log,
        userAgent: options.userAgent,
        clock: options.clock ?? systemClock,
    };
}
function baseUrlOf(value, prefix) {
    if (value === undefined || value === null)
        throw new ConfigurationError('The URL of the server is missing: set `baseUrl`.');
    const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : null;
    if (url === null || !/^https?:$/.test(url.protocol))
        throw new ConfigurationError(`\`baseUrl\` must be a URL such as https://api.example.com, not ${JSON.stringify(value)}.`);
    if (url.search !== '' || url.hash !== '')
        throw new ConfigurationError(`\`baseUrl\` must have no query and no fragment: ${url.href}`);
    const base = value
        .trim()
        .replace(/[?#]*$/, '')
        .replace(/\/+$/, '');
    return prefix !== '' && base.endsWith(prefix) ? base.slice(0, -prefix.length) : base;
}
