// The runtime of the client (d2fb35ada9eab30e), compiled from packages/client/ of the toolkit. Do not edit.
import type { ErrorCode, ErrorDetails } from './error-types.js';
interface ErrorInit {
    operation?: string;
    cause?: unknown;
}
/** Every error that the client throws. `message` is for people and may change at any time. */
export declare class ClientError extends Error {
    name: string;
    /** The operationId; null outside of operations. */
    operation: string | null;
    /** The HTTP status; null if there was no response. */
    status: number | null;
    /** The code in the body of the error; null if there is none. */
    code: ErrorCode | null;
    details: ErrorDetails | null;
    /** Identifies the request in the server's log. */
    requestId: string | null;
    /** Seconds to wait before the next attempt, from Retry-After. */
    retryAfter: number | null;
    /** The response, whose body has been read. */
    response: Response | null;
    constructor(message: string, { operation, cause }?: ErrorInit);
}
/** The response is not a success. The classes below are for single statuses. */
export declare class ApiError extends ClientError {
    name: string;
    status: number;
    response: Response;
    /** The body: parsed if it is JSON, otherwise its text; undefined if there is none. */
    body: unknown;
    constructor(operation: string, response: Response, body: unknown);
}
/** 400: a parameter or the body is invalid. */
export declare class ValidationError extends ApiError {
    name: string;
}
/** 401: the credentials are missing, malformed, expired or revoked. */
export declare class AuthenticationError extends ApiError {
    name: string;
}
/** 403: the credentials lack a permission. */
export declare class PermissionError extends ApiError {
    name: string;
}
/** 404: the resource does not exist or is not visible to you. */
export declare class NotFoundError extends ApiError {
    name: string;
}
/** 409: the state of the resource or a concurrent request does not allow this. */
export declare class ConflictError extends ApiError {
    name: string;
}
/** 410: the resource existed, but is gone. */
export declare class GoneError extends ApiError {
    name: string;
}
/** 412: the resource has changed since you read it, so `If-Match` does not match. */
export declare class PreconditionFailedError extends ApiError {
    name: string;
}
/** 429: too many requests. `retryAfter` is the number of seconds to wait. */
export declare class RateLimitError extends ApiError {
    name: string;
}
/** 500 or higher: the server or a proxy failed. */
export declare class ServerError extends ApiError {
    name: string;
}
/** The server was not reached, or the connection broke before the response was complete. See `cause`. */
export declare class ConnectionError extends ClientError {
    name: string;
}
/** The call, including all retries, took longer than its `timeout`. */
export declare class TimeoutError extends ClientError {
    name: string;
}
/** The caller's signal was aborted. `cause` is the signal's reason. */
export declare class AbortError extends ClientError {
    name: string;
}
/** The options of the client are wrong: its URL, its credentials or where it runs. */
export declare class ConfigurationError extends ClientError {
    name: string;
}
/** A webhook was not signed with the secret, is too old, or is not an event. Reject it with 400. */
export declare class WebhookVerificationError extends ClientError {
    name: string;
}
/** The error of a response, by its status. */
export declare function apiErrorOf(operation: string, response: Response, body: unknown): ApiError;
/** Whether the error is a response of the operation. The type of `body` depends on `status`. */
export declare function isErrorOf(error: unknown, operation: string): boolean;
/** The error that ends a stream of events. */
export declare function streamErrorOf(operation: string, body: unknown): ClientError;
/** The caller's signal as an error of this client; any other error unchanged. */
export declare function withAbortError(error: unknown, signal: AbortSignal | undefined): unknown;
export declare function throwIfAborted(signal: AbortSignal | undefined): void;
/**
 * Retry-After in seconds (RFC 9110, 10.2.3: seconds or a date); `now` in milliseconds. null without the
 * header.
 */
export declare function secondsToWait(response: Response, now: number): number | null;
export declare function requestIdOf({ headers }: Response): string | null;
/** The origin and the path of the URL. Its query may have a key, or the signature of a presigned URL. */
export declare function placeOf(url: string): string;
/** Said of a response that has no message of the API; it may come from a proxy or another server. */
export declare function foreignResponse(operation: string, { ok, status, statusText, url, headers }: Response): string;
export {};
