// The runtime of the client (e41c7d0e69d94e61), compiled from packages/client/ of the toolkit. Do not edit.
import type { ClientOptions } from './options.js';
export interface PlatformOptions extends Omit<ClientOptions, 'auth' | 'baseUrl'> {
    /** The server's URL, with or without `/v1`. Default: the environment variable `PLATFORM_BASE_URL`. */
    baseUrl?: string;
    /**
     * The API key. Default: the environment variable `PLATFORM_API_KEY`. Without a key, or with null, only
     * public operations can be called.
     */
    apiKey?: string | null;
    /**
     * Allows an API key on a web page, where every visitor can read it. Only for keys of the visitor. The
     * server must allow the page's origin: its setting `CORS_ORIGINS`.
     */
    dangerouslyAllowBrowser?: boolean;
}
/** @throws ConfigurationError */
export declare function platformOptions({ apiKey: givenKey, dangerouslyAllowBrowser, ...options }: PlatformOptions): ClientOptions;
/** Whether an earlier attempt with the same key is still running; its response can then be replayed. */
export declare function isInProgress(body: {
    error?: {
        details?: {
            constraint?: string;
        };
    };
} | null): boolean;
