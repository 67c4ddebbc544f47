// The runtime of the client (096a40f2b51d80fa), compiled from packages/client/ of the toolkit. Do not edit.
// `platform chat`, `platform events tail` and `platform webhooks listen`.
import { createHmac, randomBytes } from 'node:crypto';
import { CommandError, note, plain, print } from './cli-io.js';
/** Prints the answer while it is written. */
export async function chat(client, message, options) {
    const { json, knowledgeBases, session, model } = options;
    const answer = client.ai.chat.stream({
        message,
        ...(knowledgeBases !== undefined && { knowledge_base_ids: knowledgeBases }),
        ...(session !== undefined && { session_id: session }),
        ...(model !== undefined && { model }),
    });
    if (!json)
        for await (const text of answer.deltas())
            process.stdout.write(plain(text));
    const final = await answer.final();
    if (json)
        return print(options, final, []);
    process.stdout.write('\n');
    const sources = new Set((final.message.citations ?? []).map(({ name }) => name));
    if (sources.size > 0)
        note(`Sources: ${[...sources].join(', ')}`);
}
/** More attempts than a restart of the server takes. */
const reconnects = 60;
async function* follow(client, { types, project, after }) {
    const query = {
        ...(types !== undefined && { type: types }),
        ...(project !== undefined && { project_id: project }),
        ...(after !== undefined && { cursor: after }),
    };
    for await (const { event, id, data } of client.events.stream(query, { retries: reconnects }))
        if (event === 'message')
            yield { position: id, event: data };
}
/** Prints each event as it happens. The last column is the position, for `--after`. */
export async function tailEvents(client, options) {
    for await (const { position, event } of follow(client, options)) {
        const { id } = event.data.object;
        print(options, event, [event.created_at, event.type, id ?? event.id, position ?? '']);
    }
}
/** Milliseconds for the local server to answer. */
const forwardTimeout = 15_000;
/** Sends each event as a signed webhook to a local address; the server needs no way to reach it. */
export async function listen(client, options) {
    const { forwardTo, secret = `whsec_${randomBytes(32).toString('base64')}` } = options;
    if (!/^https?:/.test(forwardTo) || !URL.canParse(forwardTo))
        throw new CommandError('--forward-to is a URL, such as http://localhost:4000/hook.');
    const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : Buffer.alloc(0);
    if (key.length === 0)
        throw new CommandError('A secret starts with `whsec_`, followed by Base64.');
    note(`Events are sent to ${forwardTo}. The signing secret is ${secret} (Ctrl-C stops)`);
    for await (const { event } of follow(client, options)) {
        const answer = await forward(forwardTo, key, event);
        print(options, { id: event.id, type: event.type, ...answer }, [
            event.created_at,
            event.type,
            event.id,
            answer.status ?? answer.error,
        ]);
    }
}
async function forward(url, key, event) {
    const body = JSON.stringify(event);
    const timestamp = Math.floor(Date.now() / 1000);
    const signature = createHmac('sha256', key).update(`${event.id}.${timestamp}.${body}`).digest('base64');
    try {
        const response = await fetch(url, {
            method: 'POST',
            headers: {
                'content-type': 'application/json',
                'user-agent': 'platform-cli',
                'webhook-id': event.id,
                'webhook-timestamp': String(timestamp),
                'webhook-signature': `v1,${signature}`,
            },
            body,
            redirect: 'manual',
            signal: AbortSignal.timeout(forwardTimeout),
        });
        await response.body?.cancel();
        return { status: response.status, error: null };
    }
    catch (error) {
        const { message, cause } = error;
        return { status: null, error: cause?.code ?? cause?.message ?? message };
    }
}
