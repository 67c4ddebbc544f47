// The runtime of the client (254ea8a94f095cbc), compiled from packages/client/ of the toolkit. Do not edit.
// The errors of the client: a class per kind, all of them ClientError.
import { isJson } from './media-types.js';
/** Every error that the client throws. `message` is for people and may change at any time. */
export class ClientError extends Error {
    name = 'ClientError';
    /** The operationId; null outside of operations. */
    operation;
    /** The HTTP status; null if there was no response. */
    status = null;
    /** The code in the body of the error; null if there is none. */
    code = null;
    details = null;
    /** Identifies the request in the server's log. */
    requestId = null;
    /** Seconds to wait before the next attempt, from Retry-After. */
    retryAfter = null;
    /** The response, whose body has been read. */
    response = null;
    constructor(message, { operation, cause } = {}) {
        super(message, cause === undefined ? undefined : { cause });
        this.operation = operation ?? null;
    }
}
/** The response is not a success. The classes below are for single statuses. */
export class ApiError extends ClientError {
    name = 'ApiError';
    /** The body: parsed if it is JSON, otherwise its text; undefined if there is none. */
    body;
    constructor(operation, response, body) {
        const { message, code = null, details = null } = problemOf(body);
        super(message ?? foreignResponse(operation, response), { operation });
        this.status = response.status;
        this.body = body === '' ? undefined : body;
        this.code = code;
        this.details = details;
        this.requestId = requestIdOf(response);
        this.retryAfter = secondsToWait(response, Date.now());
        this.response = response;
    }
}
/** 400: a parameter or the body is invalid. */
export class ValidationError extends ApiError {
    name = 'ValidationError';
}
/** 401: the credentials are missing, malformed, expired or revoked. */
export class AuthenticationError extends ApiError {
    name = 'AuthenticationError';
}
/** 403: the credentials lack a permission. */
export class PermissionError extends ApiError {
    name = 'PermissionError';
}
/** 404: the resource does not exist or is not visible to you. */
export class NotFoundError extends ApiError {
    name = 'NotFoundError';
}
/** 409: the state of the resource or a concurrent request does not allow this. */
export class ConflictError extends ApiError {
    name = 'ConflictError';
}
/** 410: the resource existed, but is gone. */
export class GoneError extends ApiError {
    name = 'GoneError';
}
/** 412: the resource has changed since you read it, so `If-Match` does not match. */
export class PreconditionFailedError extends ApiError {
    name = 'PreconditionFailedError';
}
/** 429: too many requests. `retryAfter` is the number of seconds to wait. */
export class RateLimitError extends ApiError {
    name = 'RateLimitError';
}
/** 500 or higher: the server or a proxy failed. */
export class ServerError extends ApiError {
    name = 'ServerError';
}
/** The server was not reached, or the connection broke before the response was complete. See `cause`. */
export class ConnectionError extends ClientError {
    name = 'ConnectionError';
}
/** The call, including all retries, took longer than its `timeout`. */
export class TimeoutError extends ClientError {
    name = 'TimeoutError';
}
/** The caller's signal was aborted. `cause` is the signal's reason. */
export class AbortError extends ClientError {
    name = 'AbortError';
}
/** The options of the client are wrong: its URL, its credentials or where it runs. */
export class ConfigurationError extends ClientError {
    name = 'ConfigurationError';
}
/** A webhook was not signed with the secret, is too old, or is not an event. Reject it with 400. */
export class WebhookVerificationError extends ClientError {
    name = 'WebhookVerificationError';
}
const byStatus = {
    400: ValidationError,
    401: AuthenticationError,
    403: PermissionError,
    404: NotFoundError,
    409: ConflictError,
    410: GoneError,
    412: PreconditionFailedError,
    429: RateLimitError,
};
/** The error of a response, by its status. */
export function apiErrorOf(operation, response, body) {
    const Kind = byStatus[response.status] ?? (response.status >= 500 ? ServerError : ApiError);
    return new Kind(operation, response, body);
}
/** Whether the error is a response of the operation. The type of `body` depends on `status`. */
export function isErrorOf(error, operation) {
    return error instanceof ApiError && error.operation === operation;
}
/** The error that ends a stream of events. */
export function streamErrorOf(operation, body) {
    const { message, code = null, details = null } = problemOf(body);
    const error = new ClientError(message ?? 'The stream ended with an error.', { operation });
    return Object.assign(error, { code, details });
}
/** The caller's signal as an error of this client; any other error unchanged. */
export function withAbortError(error, signal) {
    if (signal?.aborted !== true || error !== signal.reason || error instanceof ClientError)
        return error;
    return new AbortError('The call was aborted.', { cause: error });
}
export function throwIfAborted(signal) {
    if (signal?.aborted)
        throw withAbortError(signal.reason, signal);
}
/**
 * Retry-After in seconds (RFC 9110, 10.2.3: seconds or a date); `now` in milliseconds. null without the
 * header.
 */
export function secondsToWait(response, now) {
    const value = response.headers.get('retry-after');
    if (value === null)
        return null;
    if (/^\d+$/.test(value.trim()))
        return Number(value);
    const date = Date.parse(value);
    return Number.isNaN(date) ? null : Math.max(0, (date - now) / 1000);
}
export function requestIdOf({ headers }) {
    return headers.get('x-request-id') ?? headers.get('request-id');
}
const messageKeys = ['message', 'detail', 'title', 'description', 'error_description', 'error', 'msg'];
/** What the usual shapes of errors say, such as problem+json and `{ error: { code, message } }`. */
function problemOf(body) {
    if (typeof body !== 'object' || body === null)
        return {};
    const outer = body;
    const [first] = [outer.errors ?? []].flat();
    const all = [outer.error, outer, first].filter((each) => typeof each === 'object' && each !== null);
    const texts = all.flatMap((each) => messageKeys.map((key) => each[key]));
    return {
        message: texts.find((text) => typeof text === 'string' && text !== ''),
        code: all.map(({ code }) => code).find((code) => typeof code === 'string'),
        details: all.map(({ details }) => details).find((details) => details !== undefined),
    };
}
/** The origin and the path of the URL. Its query may have a key, or the signature of a presigned URL. */
export function placeOf(url) {
    const { origin, pathname } = new URL(url);
    return origin + pathname;
}
/** Said of a response that has no message of the API; it may come from a proxy or another server. */
export function foreignResponse(operation, { ok, status, statusText, url, headers }) {
    const type = headers.get('content-type')?.split(';')[0] ?? 'no body';
    const said = `${status}${statusText && ` ${statusText}`}`;
    if (!ok && (type === 'no body' || isJson(type)))
        return `${operation} failed: ${said}.`;
    const hint = status === 304 || status >= 500 ? '' : ' Check `baseUrl`: it may be another server.';
    const from = url === '' ? 'the response' : placeOf(url);
    return `${operation} failed: ${from} is not from the API (${said}, ${type}).${hint}`;
}
