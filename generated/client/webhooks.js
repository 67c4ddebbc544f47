// The runtime of the client (582f569dcfcb5c8b), compiled from packages/client/ of the toolkit. Do not edit.
import { WebhookVerificationError } from './error.js';
import { fromEnvironment } from './environment.js';
/**
 * Checks the signature and the age of a webhook.
 * @returns the event; its `type` determines the type of `data.object`.
 * @throws WebhookVerificationError: answer 400 and ignore the request.
 */
export async function verifyWebhook(request) {
    const { payload, headers, tolerance = 300, now = Date.now() } = request;
    const secrets = secretsOf(request.secret ?? fromEnvironment('PLATFORM_WEBHOOK_SECRET'));
    const id = headerOf(headers, 'webhook-id');
    const timestamp = headerOf(headers, 'webhook-timestamp');
    const signatures = headerOf(headers, 'webhook-signature').split(' ');
    const age = now / 1000 - Number(timestamp);
    if (!/^\d+$/.test(timestamp))
        throw new WebhookVerificationError('webhook-timestamp is not a number.');
    if (Math.abs(age) > tolerance)
        throw new WebhookVerificationError(`The webhook is ${Math.round(Math.abs(age))} s ${age > 0 ? 'old' : 'in the future'}; ` +
            `at most ${tolerance} s are allowed. Check the clock of this machine.`);
    const body = bytesOf(payload);
    const signed = joined(new TextEncoder().encode(`${id}.${timestamp}.`), body);
    if (!(await isSigned(signed, signatures, secrets)))
        throw new WebhookVerificationError('No signature matches. Check the secret, and that `payload` is the exact body of the request.');
    try {
        return JSON.parse(new TextDecoder().decode(body));
    }
    catch (error) {
        throw new WebhookVerificationError('The payload is not JSON.', { cause: error });
    }
}
async function isSigned(content, signatures, secrets) {
    const algorithm = { name: 'HMAC', hash: 'SHA-256' };
    let matches = false;
    for (const secret of secrets) {
        const key = await crypto.subtle.importKey('raw', secret, algorithm, false, ['verify']);
        for (const signature of signatures.filter((one) => one.startsWith('v1,'))) {
            const bytes = fromBase64(signature.slice(3));
            // `verify` compares in constant time.
            if (bytes !== null && (await crypto.subtle.verify('HMAC', key, bytes, content)))
                matches = true;
        }
    }
    return matches;
}
function secretsOf(secret) {
    const secrets = secret === undefined ? [] : [secret].flat();
    if (secrets.length === 0)
        throw new WebhookVerificationError('The secret of the endpoint is missing: set `secret`, or the variable PLATFORM_WEBHOOK_SECRET.');
    return secrets.map((one) => {
        const bytes = typeof one === 'string' && one.startsWith('whsec_') ? fromBase64(one.slice(6)) : null;
        if (bytes === null || bytes.length === 0)
            throw new WebhookVerificationError('A secret starts with `whsec_`, followed by Base64.');
        return bytes;
    });
}
function headerOf(headers, name) {
    const value = typeof headers.get === 'function'
        ? headers.get(name)
        : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
    const text = Array.isArray(value) ? value[0] : value;
    if (typeof text !== 'string' || text === '')
        throw new WebhookVerificationError(`The request has no header ${name}.`);
    return text;
}
function bytesOf(payload) {
    if (typeof payload === 'string')
        return new TextEncoder().encode(payload);
    if (payload instanceof ArrayBuffer)
        return new Uint8Array(payload);
    if (payload instanceof Uint8Array)
        return payload;
    throw new WebhookVerificationError('`payload` must be the exact body of the request as text or bytes, not the parsed object.');
}
function joined(first, second) {
    const bytes = new Uint8Array(first.length + second.length);
    bytes.set(first);
    bytes.set(second, first.length);
    return bytes;
}
function fromBase64(text) {
    try {
        return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    }
    catch {
        return null;
    }
}
