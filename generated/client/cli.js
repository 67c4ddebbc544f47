// The runtime of the client (4f74c044315ffd75), compiled from packages/client/ of the toolkit. Do not edit.
// The command line `platform`: `npx platform` of the client package. No other module of the package imports
// it, so that it is in no bundle for browsers.
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { account, clientOf, forgetAccount, saveAccount, urlInEnvironment } from './cli-config.js';
import { copyFiles, listFiles } from './cli-files.js';
import { chat, listen, tailEvents } from './cli-follow.js';
import { CommandError, lineOf, note, print } from './cli-io.js';
const usage = `platform COMMAND

  login [--url URL] [--key KEY]        saves the address and the key of a server
  logout                               deletes them
  projects list                        lists your projects
  projects create NAME [--description TEXT] [--tag TAG]...
  files ls [PATH] [-r]                 lists the files of a folder
  files cp [-r] FROM TO                copies; the remote place starts with platform:
                                       [--on-conflict POLICY]
  chat QUESTION                        asks, also about documents; - reads standard input
                                       [--knowledge-base ID]... [--session ID] [--model MODEL]
  events tail                          prints events as they happen
                                       [--type TYPE]... [--after POSITION]
  webhooks listen --forward-to URL     sends events as signed webhooks to a local address
                                       [--type TYPE]... [--secret whsec_...]
  api METHOD PATH [--data JSON]        sends any request; --data @FILE reads a file, - standard input

  --project ID   of files, events and webhooks
  --json         prints JSON, one value per line
  --help         prints this

PLATFORM_URL and PLATFORM_API_KEY win over what \`platform login\` saved.
`;
const flags = {
    url: { type: 'string' },
    key: { type: 'string' },
    description: { type: 'string' },
    tag: { type: 'string', multiple: true },
    project: { type: 'string' },
    recursive: { type: 'boolean', short: 'r' },
    'on-conflict': { type: 'string' },
    'knowledge-base': { type: 'string', multiple: true },
    session: { type: 'string' },
    model: { type: 'string' },
    type: { type: 'string', multiple: true },
    after: { type: 'string' },
    'forward-to': { type: 'string' },
    secret: { type: 'string' },
    data: { type: 'string' },
    json: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
};
const commands = {
    login: { flags: ['url', 'key'], arguments: [0, 0], run: login },
    logout: { flags: [], arguments: [0, 0], run: forgetAccount },
    'projects list': {
        flags: [],
        arguments: [0, 0],
        async run({ json = false }) {
            for await (const project of (await client()).projects.list())
                print({ json }, project, [project.id, project.status, project.name]);
        },
    },
    'projects create': {
        flags: ['description', 'tag'],
        arguments: [1, 1],
        async run({ json = false, description, tag }, [name]) {
            const project = await (await client()).projects.create({ name, description, tags: tag });
            print({ json }, project, [project.id, project.status, project.name]);
        },
    },
    'files ls': {
        flags: ['project', 'recursive'],
        arguments: [0, 1],
        async run({ json = false, project, recursive = false }, [path = '']) {
            await listFiles(await client(), path, { json, project, recursive });
        },
    },
    'files cp': {
        flags: ['project', 'recursive', 'on-conflict'],
        arguments: [2, 2],
        async run({ json = false, project, recursive = false, 'on-conflict': onConflict }, [from, to]) {
            const own = await account();
            const options = { json, project, recursive, onConflict };
            await copyFiles({ client: clientOf(own), url: own.url, options }, from, to);
        },
    },
    chat: {
        flags: ['knowledge-base', 'session', 'model'],
        arguments: [1, 1],
        async run({ json = false, session, model, 'knowledge-base': knowledgeBases }, [question]) {
            const message = question === '-' ? await text(process.stdin) : question;
            await chat(await client(), message, { json, session, model, knowledgeBases });
        },
    },
    'events tail': {
        flags: ['type', 'project', 'after'],
        arguments: [0, 0],
        async run({ json = false, type, project, after }) {
            await tailEvents(await client(), { json, types: type, project, after });
        },
    },
    'webhooks listen': {
        flags: ['type', 'project', 'after', 'forward-to', 'secret'],
        arguments: [0, 0],
        async run({ json = false, type, project, after, secret, 'forward-to': forwardTo }) {
            if (forwardTo === undefined)
                throw new CommandError('--forward-to URL is missing.');
            await listen(await client(), { json, types: type, project, after, secret, forwardTo });
        },
    },
    api: { flags: ['data'], arguments: [2, 2], run: api },
};
/** Runs a command. @returns the exit code. */
export async function main(given) {
    // A reader that has seen enough, such as `head`, closes the pipe.
    process.stdout.on('error', (error) => {
        process.exit(error.code === 'EPIPE' ? 0 : 1);
    });
    try {
        const { values, positionals } = parse(given);
        if (values.help || given.length === 0) {
            process.stdout.write(usage);
            return values.help ? 0 : 1;
        }
        const [name, command, rest] = commandOf(positionals);
        for (const flag of Object.keys(values))
            if (flag !== 'json' && !command.flags.includes(flag))
                throw new CommandError(`\`platform ${name}\` has no option --${flag}.`);
        const [min, max] = command.arguments;
        if (rest.length < min || rest.length > max)
            throw new CommandError(`\`platform ${name}\` takes ${min === max ? min : `${min} or ${max}`} arguments.`);
        await command.run(values, rest);
        return 0;
    }
    catch (error) {
        note(`platform: ${lineOf(error)}`);
        return 1;
    }
}
function parse(given) {
    return parseArgs({ args: given, options: flags, allowPositionals: true, strict: true });
}
function commandOf(positionals) {
    for (const length of [2, 1]) {
        const name = positionals.slice(0, length).join(' ');
        if (Object.hasOwn(commands, name))
            return [name, commands[name], positionals.slice(length)];
    }
    throw new CommandError(`There is no command \`${positionals.join(' ')}\`. See \`platform --help\`.`);
}
async function client() {
    return clientOf(await account());
}
/** The key is read from a terminal without an echo, or from standard input. It is checked, then saved. */
async function login({ url: givenUrl, key: givenKey }) {
    const isAsked = process.stdin.isTTY && process.stderr.isTTY;
    const url = givenUrl ?? urlInEnvironment() ?? (isAsked ? await ask('URL of the server: ') : undefined);
    if (url === undefined)
        throw new CommandError('--url is missing.');
    const key = givenKey ??
        process.env.PLATFORM_API_KEY ??
        (isAsked ? await ask('API key: ', { isSecret: true }) : await text(process.stdin));
    const own = { url: url.trim(), key: key.trim() };
    const { name, user_id: user } = await clientOf(own).user.apiKeys.current();
    const file = await saveAccount(own);
    note(`The key ${name} of ${user} is saved in ${file}.`);
}
async function ask(question, { isSecret = false } = {}) {
    process.stderr.write(question);
    const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
    const lines = createInterface({
        input: process.stdin,
        output: isSecret ? silent : process.stderr,
        terminal: true,
    });
    try {
        return await lines.question('');
    }
    finally {
        lines.close();
        if (isSecret)
            process.stderr.write('\n');
    }
}
async function api({ data }, [method, path]) {
    if (!path.startsWith('/'))
        throw new CommandError('The path starts with a slash, such as /v1/projects.');
    const body = data === '-'
        ? await text(process.stdin)
        : data?.startsWith('@')
            ? await readFile(data.slice(1), 'utf8')
            : data;
    const { url, key } = await account();
    const own = clientOf({ url, key });
    const { data: answer, error, response, } = await own.api.request(method.toLowerCase(), path.replace(/^\/v1(?=\/)/, ''), {
        parseAs: 'text',
        ...(body !== undefined && {
            body,
            bodySerializer: (given) => given,
            headers: { 'content-type': 'application/json' },
        }),
    });
    const { status } = response;
    const printed = typeof error === 'object' ? JSON.stringify(error) : String(error ?? answer ?? '');
    if (printed !== '')
        process.stdout.write(printed.endsWith('\n') ? printed : `${printed}\n`);
    if (!response.ok) {
        const request = response.headers.get('x-request-id');
        throw new CommandError(`${status}${request === null ? '' : ` (request ${request})`}`);
    }
}
