// The runtime of the client (25b62ee5410854bb), compiled from packages/client/ of the toolkit. Do not edit.
/** An environment variable; undefined in browsers, and if it is empty. */
export declare function fromEnvironment(name: string): string | undefined;
export declare function isWebPage(): boolean;
/** Whether requests to the origin come from a web page of another one, so that CORS decides about them. */
export declare function isOtherOrigin(origin: string): boolean;
