// The runtime of the client (d4796599580ef1b1), compiled from packages/client/ of the toolkit. Do not edit.
/**
 * @param report receives the sent bytes of the file, at least once, and all of them after a success, if the
 * size is known.
 */
export function withProgress(fetch, body, report) {
    const Browser = globalThis.XMLHttpRequest;
    const onLoaded = (loaded) => report(body.read?.() ?? Math.min(Math.max(loaded - body.start, 0), body.size));
    return async (request) => {
        const response = await (Browser === undefined || !(body.content instanceof Blob)
            ? sendStream(fetch, request, body, onLoaded)
            : sendByBrowser(new Browser(), request, body.content, onLoaded));
        if (response.ok && Number.isFinite(body.size))
            onLoaded(body.start + body.size);
        return response;
    };
}
async function sendStream(fetch, request, { content, length }, onLoaded) {
    let loaded = 0;
    const counting = new TransformStream({
        transform(chunk, controller) {
            controller.enqueue(chunk);
            onLoaded((loaded += chunk.byteLength));
        },
    });
    const headers = new Headers(request.headers);
    // Lets the server reject a body that is too large before it is sent.
    if (length !== null)
        headers.set('content-length', String(length));
    const init = {
        method: request.method,
        headers,
        signal: request.signal,
        body: (content instanceof Blob ? content.stream() : request.body).pipeThrough(counting),
        duplex: 'half',
        redirect: 'error',
    };
    return await fetch(new Request(request.url, init));
}
function sendByBrowser(browser, request, blob, onLoaded) {
    const { signal } = request;
    signal.throwIfAborted();
    const stop = () => browser.abort();
    return new Promise((resolve, reject) => {
        browser.open(request.method, request.url);
        browser.responseType = 'blob';
        request.headers.forEach((value, name) => browser.setRequestHeader(name, value));
        browser.upload.onprogress = ({ loaded }) => onLoaded(loaded);
        browser.onload = () => resolve(new Response(browser.response.size === 0 ? null : browser.response, {
            status: browser.status,
            statusText: browser.statusText,
            headers: headersOf(browser.getAllResponseHeaders()),
        }));
        browser.onerror = () => reject(new TypeError('the network failed'));
        browser.onabort = () => reject(signal.reason);
        signal.addEventListener('abort', stop, { once: true });
        browser.send(blob);
    }).finally(() => signal.removeEventListener('abort', stop));
}
function headersOf(lines) {
    return lines
        .split('\r\n')
        .filter((line) => line !== '')
        .map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon), line.slice(colon + 1).trim()];
    });
}
