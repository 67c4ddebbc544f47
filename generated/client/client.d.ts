// The runtime of the client (245436be984b2903), compiled from packages/client/ of the toolkit. Do not edit.
import { type Client as FetchClient } from './openapi-fetch.js';
import type { Clock } from './clock.js';
import type { OperationRow } from './operation-row.js';
import { type ApiInfo, type ClientOptions } from './options.js';
/** The generated package adds the types. */
export interface UntypedClient {
    methods: Record<string, (input?: any) => any>;
    resources: Record<string, any>;
    api: FetchClient<any>;
    clock: Clock;
}
export declare function createClient(table: Record<string, OperationRow>, info: ApiInfo, options: ClientOptions): UntypedClient;
