// The runtime of the client (8bbb3dcdb9243efb), compiled from packages/client/ of the toolkit. Do not edit.
import type { OperationRow } from './operation-row.js';
type Values = Record<string, unknown>;
/** The parameters of a call by their place. */
export interface ParameterInput {
    path?: Values;
    query?: Values;
    headers?: Values;
    cookies?: Values;
}
/** A part of the request without parameters is empty. */
export interface RequestParameters {
    path: string;
    /** Without the question mark. */
    query: string;
    headers: Record<string, string>;
}
/** @throws TypeError if a parameter of the path is missing or results in the path of another operation. */
export declare function encodeParameters(id: string, row: OperationRow, input?: ParameterInput): RequestParameters;
export {};
