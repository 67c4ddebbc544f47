// The runtime of the client (1ef93108dce38f16), compiled from packages/client/ of the toolkit. Do not edit.
// Retries after network errors and temporary failures, if a second attempt has no second effect: GET, HEAD,
// OPTIONS, PUT, DELETE, and any request with an idempotency key. A body that can be read only once is not
// retried.
import { backOff } from './clock.js';
import { isOtherOrigin } from './environment.js';
import { ConnectionError, placeOf, requestIdOf, secondsToWait } from './error.js';
/** A request that keeps its constructor arguments, to create a new request for each attempt. */
export class RepeatableRequest extends Request {
    #input;
    #init;
    constructor(input, init) {
        // To follow a redirect, Node keeps a copy of the whole body in memory.
        const own = init?.body ? { ...init, redirect: 'error' } : init;
        super(input, own);
        this.#input = input;
        this.#init = own;
    }
    /** The same request for another URL. */
    at(url) {
        return new RepeatableRequest(url, { ...this.#init, headers: this.headers });
    }
    /** A copy with the current headers; null if the body is a stream, which can be sent only once. */
    copy() {
        const isStream = typeof this.#input === 'object' && 'body' in this.#input && this.#input.body !== null;
        if (isStream || this.#init?.body instanceof ReadableStream)
            return null;
        const headers = new Headers(this.headers);
        // Each encoding of a form has a new boundary, and so a new Content-Type.
        if (this.#init?.body instanceof FormData)
            headers.delete('content-type');
        return new Request(this.#input, { ...this.#init, headers });
    }
}
/** The server has not executed the request. */
const notExecuted = new Set([408, 429, 503]);
/** A proxy does not know whether the server has executed the request. */
const maybeExecuted = new Set([502, 504]);
/** The client does not wait longer than this for Retry-After. */
const maxWaitSeconds = 120;
/**
 * @throws ConnectionError if the last attempt has no response; the signal's reason if the request is aborted.
 */
export async function sendWithRetries(request, options) {
    const { clock, retries, until } = options;
    for (let attempt = 0;; attempt++) {
        const next = copyOf(request);
        const started = clock.now();
        const response = await attemptOnce(next ?? request, options);
        const ended = clock.now();
        const delay = next === null || attempt >= retries ? null : await waitAfter(request, response, attempt, options);
        const wait = delay === null || ended + delay > until ? null : delay;
        report(options, request, { attempt: attempt + 1, response, milliseconds: ended - started, retryIn: wait });
        if (wait === null) {
            if (response instanceof ConnectionError)
                throw response;
            return response;
        }
        if (response instanceof Response)
            await response.body?.cancel();
        await clock.sleep(wait, request.signal);
    }
}
function report({ operation, log }, { method, url }, outcome) {
    const { response, ...rest } = outcome;
    const failed = response instanceof ConnectionError;
    log?.({
        operation,
        method,
        url: placeOf(url),
        ...rest,
        status: failed ? null : response.status,
        requestId: failed ? null : requestIdOf(response),
        error: failed ? response : null,
    });
}
function copyOf(request) {
    if (request instanceof RepeatableRequest)
        return request.copy();
    return request.body === null ? new Request(request) : null;
}
async function attemptOnce(request, { operation, transport, readBody }) {
    try {
        const response = await transport(request);
        return readBody ? await withBody(response) : response;
    }
    catch (error) {
        request.signal.throwIfAborted();
        // fetch rejects with a TypeError for network errors (https://fetch.spec.whatwg.org/#fetch-method).
        if (!(error instanceof TypeError))
            throw error;
        const { origin, pathname } = new URL(request.url);
        return new ConnectionError(`${request.method} ${pathname} has no complete response from ${origin}: ${reasonOf(error)}.` +
            (isOtherOrigin(origin) ? ' On a web page the server must allow its origin (CORS).' : ''), { operation, cause: error });
    }
}
/** Errors of several addresses have a code but no message. */
function reasonOf(error) {
    const cause = error.cause;
    return cause?.message || cause?.code || error.message;
}
/** The response with its body in memory; it keeps its URL, for error messages. */
async function withBody(response) {
    if (response.body === null)
        return response;
    const { status, statusText, headers, url } = response;
    const bytes = await response.arrayBuffer();
    // Browsers have a body for 204, too, which the constructor refuses.
    const complete = new Response(bytes.byteLength === 0 ? null : bytes, { status, statusText, headers });
    return Object.defineProperty(complete, 'url', { value: url });
}
/** Milliseconds until the next attempt; null if there is none. */
async function waitAfter(request, response, attempt, { clock, idempotencyHeaders, isInProgress }) {
    const hasKey = idempotencyHeaders.some((name) => request.headers.has(name));
    if (!hasKey && !['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'].includes(request.method))
        return null;
    if (response instanceof Response && response.headers.get('x-should-retry') === 'false')
        return null;
    if (response instanceof ConnectionError || maybeExecuted.has(response.status)) {
        // If the first attempt was executed, the ETag has changed, and a second one would fail with 412.
        return request.headers.has('if-match') ? null : backOff(attempt, clock);
    }
    if (response.status === 409) {
        const isRunning = hasKey && isInProgress?.(await bodyOf(response)) === true;
        return isRunning ? backOff(attempt, clock) : null;
    }
    if (!notExecuted.has(response.status))
        return null;
    const seconds = secondsToWait(response, clock.now());
    if (seconds === null)
        return backOff(attempt, clock);
    return seconds > maxWaitSeconds ? null : seconds * 1000;
}
async function bodyOf(response) {
    return await response
        .clone()
        .json()
        .catch(() => null);
}
