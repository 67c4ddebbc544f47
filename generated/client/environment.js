// The runtime of the client (58e33022a7afdb2d), compiled from packages/client/ of the toolkit. Do not edit.
// Where the client runs: in a web page or not, and with which environment variables.
/** An environment variable; undefined in browsers, and if it is empty. */
export function fromEnvironment(name) {
    const { process } = globalThis;
    return process?.env?.[name]?.trim() || undefined;
}
export function isWebPage() {
    return 'document' in globalThis;
}
/** Whether requests to the origin come from a web page of another one, so that CORS decides about them. */
export function isOtherOrigin(origin) {
    return isWebPage() && globalThis.location?.origin !== origin;
}
