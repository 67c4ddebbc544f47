// The runtime of the client (dd99533219bd1230), compiled from packages/client/ of the toolkit. Do not edit.
// Output of the command line: lines, progress and errors.
import { PlatformError } from './index.js';
/** A mistake of the user: its message is all that is printed. */
export class CommandError extends Error {
    name = 'CommandError';
}
/** Text without control characters, with which a file name or an answer could command the terminal. */
export function plain(text) {
    return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');
}
/** Prints a value: as one line of JSON, or as columns. */
export function print({ json }, value, columns) {
    process.stdout.write(json ? `${JSON.stringify(value)}\n` : `${columns.map((each) => plain(String(each))).join('  ')}\n`);
}
/** Notes for a person; standard output is for results. */
export function note(text) {
    process.stderr.write(`${plain(text)}\n`);
}
/** Shows the progress of a transfer on a terminal, at most ten times a second, and removes it at the end. */
export function progressOf(name) {
    let last = 0;
    return {
        report(sent, total) {
            const now = Date.now();
            if (!process.stderr.isTTY || (now - last < 100 && sent < total))
                return;
            last = now;
            const percent = total === 0 ? 100 : Math.floor((100 * sent) / total);
            process.stderr.write(`\r\u001b[K${plain(name)} ${percent}% of ${total} bytes`);
        },
        end() {
            if (process.stderr.isTTY && last > 0)
                process.stderr.write('\r\u001b[K');
        },
    };
}
/** One line about an error, with the id of the request in the server's log. */
export function lineOf(error) {
    if (error instanceof PlatformError) {
        const request = error.requestId === null ? '' : ` (request ${error.requestId})`;
        return plain(`${error.message}${request}`).replaceAll('\n', ' ');
    }
    if (error instanceof CommandError)
        return error.message;
    const { message, code } = error;
    return plain(message || String(code ?? error)).replaceAll('\n', ' ');
}
