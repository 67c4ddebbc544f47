// The runtime of the client (f485dfb0b3c8c6fe), compiled from packages/client/ of the toolkit. Do not edit.
// The address and the key: of the environment, or of `platform login`.
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createPlatformClient } from './index.js';
import { CommandError } from './cli-io.js';
/** The folder of the settings, and of the uploads that are not complete. */
export function configFolder() {
    const { XDG_CONFIG_HOME } = process.env;
    return join(XDG_CONFIG_HOME || join(homedir(), '.config'), 'platform');
}
const configFile = () => join(configFolder(), 'config.json');
/** Writes a file that only its owner may read. A crash leaves the old one. */
export async function writePrivate(file, text) {
    await mkdir(join(file, '..'), { recursive: true, mode: 0o700 });
    const temporary = `${file}.${process.pid}.tmp`;
    await writeFile(temporary, text, { mode: 0o600 });
    // The mode of writeFile has no effect on a file that an earlier crash left.
    await chmod(temporary, 0o600);
    await rename(temporary, file);
}
export async function saveAccount(account) {
    await writePrivate(configFile(), `${JSON.stringify(account, null, 2)}\n`);
    return configFile();
}
export async function forgetAccount() {
    await rm(configFile(), { force: true });
}
/**
 * The environment wins. A saved key is sent only to the server that it was saved for.
 * @throws CommandError if there is no address or no key.
 */
export async function account() {
    const url = urlInEnvironment();
    const key = process.env.PLATFORM_API_KEY?.trim() || undefined;
    const saved = await readSaved();
    const isSaved = saved !== null && (url === undefined || originOf(url) === originOf(saved.url));
    const chosen = { url: url ?? saved?.url, key: key ?? (isSaved ? saved.key : undefined) };
    if (chosen.url === undefined)
        throw new CommandError('Log in first: `platform login`, or set PLATFORM_URL and PLATFORM_API_KEY.');
    if (chosen.key === undefined)
        throw new CommandError(`There is no key for ${chosen.url}: \`platform login\`, or set PLATFORM_API_KEY.`);
    return { url: chosen.url, key: chosen.key };
}
/** PLATFORM_URL, or the name that the libraries read. */
export function urlInEnvironment() {
    return process.env.PLATFORM_URL?.trim() || process.env.PLATFORM_BASE_URL?.trim() || undefined;
}
async function readSaved() {
    const text = await readFile(configFile(), 'utf8').catch((error) => {
        if (error.code === 'ENOENT' || error.code === 'ENOTDIR')
            return null;
        throw error;
    });
    if (text === null)
        return null;
    try {
        const { url, key } = JSON.parse(text);
        if (typeof url === 'string' && typeof key === 'string')
            return { url, key };
    }
    catch {
        // Reported below.
    }
    throw new CommandError(`${configFile()} is not valid: run \`platform login\` again.`);
}
function originOf(url) {
    return URL.canParse(url) ? new URL(url).origin : url;
}
export function clientOf({ url, key }) {
    return createPlatformClient({ baseUrl: url, apiKey: key, userAgent: 'platform-cli' });
}
