// The runtime of the client (fbdad728734e8a7b), compiled from packages/client/ of the toolkit. Do not edit.
import type { components } from './types.js';
export interface WebhookRequest {
    /** The exact body of the request, before it is parsed. */
    payload: string | Uint8Array | ArrayBuffer;
    /** The headers of the request: a `Headers`, or an object as in Node.js. */
    headers: Headers | Record<string, string | string[] | undefined>;
    /**
     * The secret of the endpoint, `whsec_…`, or several while it is rotated. Default: the environment variable
     * `PLATFORM_WEBHOOK_SECRET`.
     */
    secret?: string | readonly string[];
    /** How old the webhook may be, in seconds. Default 300. */
    tolerance?: number;
    /** Replaces the system time in milliseconds since 1970, for tests. */
    now?: number;
}
/**
 * Checks the signature and the age of a webhook.
 * @returns the event; its `type` determines the type of `data.object`.
 * @throws WebhookVerificationError: answer 400 and ignore the request.
 */
export declare function verifyWebhook(request: WebhookRequest): Promise<components['schemas']['PlatformEvent']>;
