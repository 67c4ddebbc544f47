// The runtime of the client (517dc8e5a5dea075), compiled from packages/client/ of the toolkit. Do not edit.
import type { OperationRow } from './operation-row.js';
type Method = (input?: any) => any;
/** @param methods by operationId. @returns the resources of the top level. */
export declare function resourcesOf(table: Record<string, OperationRow>, methods: Record<string, Method>): Record<string, any>;
export {};
