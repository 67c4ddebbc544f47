// The runtime of the client (65923b1c2e443c1e), compiled from packages/client/ of the toolkit. Do not edit.
import type { RepeatableRequest } from './retry.js';
/** A key, a token, or a function that returns one, which is called for each call. */
export type Secret = string | (() => string | Promise<string>);
/** A user name and a password, or a function that returns them. */
export type BasicSecret = BasicCredentials | (() => BasicCredentials | Promise<BasicCredentials>);
export interface BasicCredentials {
    username: string;
    password: string;
}
/** The credentials by the names of the security schemes. */
export type Auth = Record<string, Secret | BasicSecret | null | undefined>;
/** Where the credentials of a security scheme go. */
export interface SchemePlace {
    in: 'header' | 'query' | 'cookie';
    name: string;
    scheme: 'bearer' | 'basic' | 'plain';
}
/**
 * @param alternatives the names of the schemes that the operation accepts; the first alternative with all
 * its credentials is used.
 * @returns the request, or a new one if its URL has changed.
 */
export declare function withCredentials(request: RepeatableRequest, alternatives: readonly string[][], { auth, schemes }: {
    auth: Auth;
    schemes: Record<string, SchemePlace>;
}): Promise<RepeatableRequest>;
