// The runtime of the client (482e75631012cd40), compiled from packages/client/ of the toolkit. Do not edit.
// `platform files`: lists, uploads and downloads. A transfer that was cut continues: in the same run, and in
// a later one. A download becomes visible when it is complete and its digest is right.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readFile, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { ApiError, ConnectionError, fileFrom, } from './index.js';
import { configFolder, writePrivate } from './cli-config.js';
import { CommandError, note, print, progressOf } from './cli-io.js';
const scheme = 'platform:';
/** Smaller files are sent in one request. */
const smallFile = 1024 * 1024;
/** Attempts without progress. */
const maxFailures = 10;
export async function listFiles(client, place, options) {
    const folder = remotePath(place.startsWith(scheme) ? place : scheme + place) || '/';
    const where = options.recursive ? { path: folder } : { folder };
    for await (const file of client.storage.files.list({ ...where, project_id: options.project }))
        print(options, file, [file.id, String(file.bytes).padStart(12), file.updated_at, fullName(file)]);
}
/** @throws CommandError unless exactly one of the places is remote. */
export async function copyFiles(session, from, to) {
    const [isFromRemote, isToRemote] = [from.startsWith(scheme), to.startsWith(scheme)];
    if (isFromRemote === isToRemote)
        throw new CommandError('One of the two places starts with `platform:`, such as platform:reports/a.pdf.');
    if (isToRemote)
        await uploadAll(session, from, to);
    else
        await downloadAll(session, from, to);
}
/** The path of a remote place without its outer slashes. */
function remotePath(place) {
    return place.slice(scheme.length).replace(/^\/+|\/+$/g, '');
}
const isFolder = (place) => /(^platform:|\/)$/.test(place);
function fullName({ path, name }) {
    return path === '' ? name : `${path}/${name}`;
}
async function uploadAll(session, from, to) {
    const target = remotePath(to);
    const name = isFolder(to) ? basename(resolve(from)) : basename(target);
    const folder = isFolder(to) ? target : dirname(`/${target}`).slice(1);
    if (!(await stat(from)).isDirectory())
        return await upload(session, from, folder, name);
    if (!session.options.recursive)
        throw new CommandError(`${from} is a folder: use --recursive.`);
    const top = isFolder(to) ? joined(folder, name) : target;
    for (const file of await filesIn(from))
        await upload(session, join(from, ...file.path, file.name), joined(top, ...file.path), file.name);
}
const joined = (...parts) => parts.filter((part) => part !== '').join('/');
/** The files in a folder and its subfolders. Links are left out: they may lead out of the folder. */
async function filesIn(folder, path = []) {
    const entries = await readdir(join(folder, ...path), { withFileTypes: true });
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    const found = [];
    for (const entry of entries) {
        if (entry.isDirectory())
            found.push(...(await filesIn(folder, [...path, entry.name])));
        else if (entry.isFile())
            found.push({ path, name: entry.name });
        else
            note(`${join(folder, ...path, entry.name)} is not a file: left out.`);
    }
    return found;
}
async function upload(session, local, path, name) {
    const { client, options } = session;
    const { size } = await stat(local);
    const fields = {
        name,
        path,
        ...(options.project !== undefined && { project_id: options.project }),
        ...(options.onConflict !== undefined && { on_conflict: options.onConflict }),
    };
    const file = size <= smallFile
        ? await client.storage.files.upload({ file: await fileFrom(local), ...fields })
        : await uploadResumably(session, local, fields);
    print(options, file, [file.id, fullName(file)]);
}
/** The id of the upload is kept until it is complete, so that a later run continues it. */
async function uploadResumably({ client, url }, local, fields) {
    const { size, mtimeMs } = await stat(local);
    const identity = JSON.stringify([url, resolve(local), size, mtimeMs, fields]);
    const digest = createHash('sha256').update(identity).digest('hex');
    const record = join(configFolder(), 'uploads', digest);
    const known = (await readFile(record, 'utf8').catch(() => '')) || undefined;
    const progress = progressOf(fields.name);
    let written = Promise.resolve();
    const send = async (uploadId) => {
        const { file_id } = await client.storage.files.resumableUpload(await fileFrom(local), {
            fields,
            uploadId,
            onCreated: (id) => {
                written = writePrivate(record, id);
                written.catch(() => { });
            },
            onProgress: ({ sent, total }) => progress.report(sent, total),
        });
        await written;
        await rm(record, { force: true });
        return await client.storage.files.get(file_id);
    };
    try {
        return await send(known).catch(async (error) => {
            // The upload has expired, or its file was deleted.
            if (known === undefined || !(error instanceof ApiError && [404, 410].includes(error.status)))
                throw error;
            return await send();
        });
    }
    finally {
        progress.end();
    }
}
async function downloadAll(session, from, to) {
    const { client, options } = session;
    const source = remotePath(from);
    const isDirectory = (await stat(to).catch(() => null))?.isDirectory() === true || /[/\\]$/.test(to);
    if (!options.recursive) {
        const file = await findFile(session, source);
        return await download(session, file, isDirectory ? join(to, safeName(file.name)) : to);
    }
    // As `cp -r`: into an existing folder, or as a new one.
    const top = isDirectory && source !== '' ? join(to, safeName(basename(source))) : to;
    let count = 0;
    for await (const file of client.storage.files.list({ path: source || '/', project_id: options.project })) {
        const below = file.path.slice(source.length).split('/');
        const parts = [...below.filter((part) => part !== ''), file.name];
        await download(session, file, join(top, ...parts.map(safeName)));
        count++;
    }
    if (count === 0)
        throw new CommandError(`There are no files in ${from}.`);
}
/** @throws CommandError if there is none. */
async function findFile({ client, options }, source) {
    if (/^file_[0-9a-z]{26}$/.test(source))
        return await client.storage.files.get(source);
    const folder = dirname(`/${source}`).slice(1) || '/';
    const { data } = await client.storage.files.list({
        folder,
        name: basename(source),
        project_id: options.project,
        sort: 'created_at',
        order: 'desc',
        limit: 1,
    });
    if (data.length === 0)
        throw new CommandError(`There is no file platform:${source}.`);
    return data[0];
}
/** A name of a server is the name of one file here, and leads nowhere else. */
function safeName(name) {
    if (name === '' || name === '.' || name === '..' || /[/\\\u0000-\u001f]/.test(name))
        throw new CommandError(`The name ${JSON.stringify(name)} cannot be a file here.`);
    return name;
}
async function download(session, file, target) {
    const { client, options } = session;
    await mkdir(dirname(target), { recursive: true });
    // The digest in the name: the part of another content is not continued.
    const part = `${target}.${file.sha256.slice(0, 16)}.part`;
    const progress = progressOf(file.name);
    let failures = 0;
    try {
        for (;;) {
            const start = (await stat(part).catch(() => null))?.size ?? 0;
            if (start >= file.bytes && start > 0)
                break;
            try {
                await fetchInto(client, file, { part, start, report: progress.report });
                break;
            }
            catch (error) {
                const isCut = error instanceof ConnectionError || error instanceof TypeError;
                const now = (await stat(part).catch(() => null))?.size ?? 0;
                failures = now > start ? 0 : failures + 1;
                if (!isCut || failures >= maxFailures)
                    throw error;
                await wait(Math.random() * Math.min(8000, 250 * 2 ** failures));
            }
        }
    }
    finally {
        progress.end();
    }
    if ((await digestOf(part)) !== file.sha256) {
        await rm(part);
        throw new CommandError(`${fullName(file)} has changed during the download: try again.`);
    }
    await rename(part, target);
    print(options, file, [file.id, target]);
}
async function fetchInto(client, file, { part, start, report }) {
    const headers = start === 0 ? {} : { Range: `bytes=${start}-` };
    const response = await client.storage.files.download(file.id, {}, { headers });
    const isRest = response.status === 206;
    const handle = await open(part, isRest ? 'a' : 'w');
    try {
        let sent = isRest ? start : 0;
        for await (const chunk of response.body ?? []) {
            await handle.writeFile(chunk);
            report((sent += chunk.length), file.bytes);
        }
        await handle.sync();
    }
    finally {
        await handle.close();
    }
}
async function digestOf(path) {
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(path))
        hash.update(chunk);
    return hash.digest('hex');
}
