// The runtime of the client (4f4bacf7130d49b1), compiled from packages/client/ of the toolkit. Do not edit.
import { type PlatformClient } from './index.js';
/** A server and a key for it. */
export interface Account {
    url: string;
    key: string;
}
/** The folder of the settings, and of the uploads that are not complete. */
export declare function configFolder(): string;
/** Writes a file that only its owner may read. A crash leaves the old one. */
export declare function writePrivate(file: string, text: string): Promise<void>;
export declare function saveAccount(account: Account): Promise<string>;
export declare function forgetAccount(): Promise<void>;
/**
 * The environment wins. A saved key is sent only to the server that it was saved for.
 * @throws CommandError if there is no address or no key.
 */
export declare function account(): Promise<Account>;
/** PLATFORM_URL, or the name that the libraries read. */
export declare function urlInEnvironment(): string | undefined;
export declare function clientOf({ url, key }: Account): PlatformClient;
