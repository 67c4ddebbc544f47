// The runtime of the client (af566f005967fde3), compiled from packages/client/ of the toolkit. Do not edit.
import { type PlatformClient } from './index.js';
import { type Output } from './cli-io.js';
export interface FileOptions extends Output {
    project?: string;
    recursive: boolean;
    onConflict?: string;
}
interface Session {
    client: PlatformClient;
    url: string;
    options: FileOptions;
}
export declare function listFiles(client: PlatformClient, place: string, options: FileOptions): Promise<void>;
/** @throws CommandError unless exactly one of the places is remote. */
export declare function copyFiles(session: Session, from: string, to: string): Promise<void>;
export {};
