// The runtime of the client (e9759f88efe3cae2), compiled from packages/client/ of the toolkit. Do not edit.
// Creates the client's methods from the table of operations. Each sends its request through openapi-fetch
// with the credentials, an idempotency key if the operation accepts one, and retries.
import createFetchClient, {} from './openapi-fetch.js';
import { answerStream } from './answer-stream.js';
import { withCredentials } from './auth.js';
import { encodeBody } from './body.js';
import { startDeadline } from './deadline.js';
import { isWebPage } from './environment.js';
import { ApiError, apiErrorOf, withAbortError } from './error.js';
import { readEvents } from './events.js';
import { randomText } from './form.js';
import { settingsOf } from './options.js';
import { itemsOf, listAnswer, pagesOf } from './pages.js';
import { withProgress } from './progress.js';
import { encodeParameters } from './request-parameters.js';
import { resourcesOf } from './resources.js';
import { RepeatableRequest, sendWithRetries } from './retry.js';
const defaults = { timeout: 120_000, idleTimeout: 60_000 };
export function createClient(table, info, options) {
    const settings = settingsOf(options, info);
    const { clock, baseUrl } = settings;
    const idempotencyHeaders = [...new Set(Object.values(table).flatMap(({ idempotent }) => idempotent ?? []))];
    const retrying = (limits) => (request) => {
        const operation = limits.operation ?? `${request.method} ${new URL(request.url).pathname}`;
        const common = { transport: settings.fetch, until: Infinity, readBody: false, clock, log: settings.log };
        const { isInProgress } = info;
        const retries = limits.retries ?? settings.retries;
        return sendWithRetries(request, {
            ...common,
            ...limits,
            operation,
            retries,
            idempotencyHeaders,
            isInProgress,
        });
    };
    const api = createFetchClient({
        baseUrl: baseUrl + info.prefix,
        Request: RepeatableRequest,
        fetch: retrying({}),
    });
    addRequestHeaders(api, table, info, settings);
    async function call(id, row, input) {
        const { path, query, headers } = encodeParameters(id, row, input);
        const search = input.search ?? query;
        const { body, type, upload } = await encodeBody(row, input.body, input.contentType);
        const deadline = startDeadline(id, timeoutOf(input, settings, upload), clock, input.signal);
        const streamed = row.answer === 'bytes' || row.answer === 'events';
        const transport = upload === undefined || input.onProgress === undefined
            ? settings.fetch
            : withProgress(settings.fetch, upload, increasing(upload.size, input.onProgress));
        const limits = { operation: id, retries: input.retries, until: deadline.at, transport };
        const origin = settings.hasBaseUrl || row.origin === undefined ? baseUrl : row.origin;
        try {
            const { data, error, response } = await deadline.within(api.request(row.method.toLowerCase(), row.path, {
                params: { path: {} },
                pathSerializer: () => origin + row.prefix + path,
                querySerializer: () => search,
                headers: {
                    ...(type !== undefined && { 'Content-Type': type }),
                    ...(row.accept !== undefined && { Accept: row.accept }),
                    ...(row.answer === 'events' && { Accept: 'text/event-stream, application/json' }),
                    ...headers,
                },
                ...(body !== undefined && {
                    body,
                    bodySerializer: (encoded) => encoded,
                    ...(body instanceof ReadableStream && { duplex: 'half' }),
                }),
                parseAs: streamed ? 'stream' : 'text',
                signal: deadline.signal,
                fetch: retrying({ ...limits, readBody: !streamed }),
            }));
            if (!response.ok)
                throw apiErrorOf(id, response, error);
            return { data: decoded(id, row, data, response), response };
        }
        catch (error) {
            throw withAbortError(error, input.signal);
        }
        finally {
            deadline.clear();
        }
    }
    function events(id, row, input, after = null) {
        return readEvents({
            after,
            open: async (lastEventId, signal) => {
                const headers = {
                    ...input.headers,
                    ...(lastEventId !== null && row.resumes && { 'Last-Event-ID': lastEventId }),
                };
                return (await call(id, row, { ...input, headers, signal })).response;
            },
            ends: row.ends ?? [],
            resumes: row.resumes === true,
            retries: input.retries ?? settings.retries,
            idleTimeout: input.silence ?? defaults.idleTimeout,
            clock,
            signal: input.signal,
        });
    }
    function stream(id, row, input) {
        const { answers } = row;
        if (answers === undefined)
            return events(id, row, input);
        const { signal, silence, retries } = input;
        return answerStream({
            operation: id,
            shape: answers,
            open: () => events(id, row, input),
            resume: (answer, last) => events(answers.resume, table[answers.resume], { path: { id: answer }, signal, silence, retries }, last),
        });
    }
    function methodOf(id, row) {
        if (row.answer === 'events')
            return (input = {}) => stream(id, row, input);
        const plain = (input = {}) => withResponse(call(id, row, input));
        const asEvents = { ...row, answer: 'events' };
        const more = row.streams && { stream: (input = {}) => stream(id, asEvents, input) };
        const { list } = row;
        if (list === undefined)
            return Object.assign(plain, more);
        const fetchPage = (input) => call(id, row, input);
        return Object.assign((input = {}) => {
            const result = call(id, row, input);
            return listAnswer(list, input, { answer: withResponse(result), result }, fetchPage);
        }, {
            ...more,
            all: (input = {}) => itemsOf(list, input, fetchPage),
            pages: (input = {}) => pagesOf(list, input, fetchPage),
        });
    }
    const methods = Object.fromEntries(Object.entries(table).map(([id, row]) => [id, methodOf(id, row)]));
    return { methods, resources: resourcesOf(table, methods), api, clock };
}
/** Adds credentials and an idempotency key to requests without them, and outside browsers the User-Agent. */
function addRequestHeaders(api, table, { userAgent, schemes, security }, settings) {
    const rows = new Map(Object.values(table).map((row) => [`${row.method} ${row.path}`, row]));
    api.use({
        async onRequest({ request, schemaPath }) {
            const { headers } = request;
            const row = rows.get(`${request.method} ${schemaPath}`);
            for (const [name, value] of Object.entries(settings.headers))
                if (!headers.has(name))
                    headers.set(name, value);
            if (!isWebPage())
                headers.set('user-agent', settings.userAgent ?? userAgent);
            // Set once per call, so that all attempts have the same key.
            if (row?.idempotent !== undefined && !headers.has(row.idempotent))
                headers.set(row.idempotent, randomText());
            return await withCredentials(request, row?.security ?? security, {
                auth: settings.auth,
                schemes,
            });
        },
    });
}
/** The body of a success. @throws ApiError if the response does not come from the API. */
function decoded(id, { answer }, data, response) {
    if (answer === 'bytes')
        return response;
    if (answer === 'events' && !response.headers.get('content-type')?.startsWith('text/event-stream'))
        throw new ApiError(id, response, null);
    if (answer !== 'json')
        return answer === null || data === '' ? undefined : data;
    if (typeof data !== 'string' || data === '')
        return undefined;
    try {
        return JSON.parse(data);
    }
    catch {
        throw new ApiError(id, response, null);
    }
}
/** The time limit of a call in milliseconds; null: no limit. The call overrides the client. */
function timeoutOf(input, settings, upload) {
    if (input.timeout !== undefined)
        return input.timeout;
    if (settings.timeout !== undefined)
        return settings.timeout;
    return upload === undefined ? defaults.timeout : null;
}
/** A promise of the data, with `withResponse()` for the data and the response. */
function withResponse(result) {
    const data = result.then((answer) => answer.data);
    return Object.assign(data, {
        withResponse() {
            // Only the returned promise may report a failure, not `data` as an unhandled rejection.
            data.catch(() => { });
            return result;
        },
    });
}
/** A retry starts at 0 again; reports only progress beyond the previous maximum. */
function increasing(total, onProgress) {
    let max = -1;
    return (sent) => {
        if (sent <= max)
            return;
        max = sent;
        onProgress({ sent, total });
    };
}
