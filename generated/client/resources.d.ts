// The runtime of the client (a73ffd9a3e90bea9), compiled from packages/client/ of the toolkit. Do not edit.
import type { OperationRow } from './operation-row.js';
type Method = (input?: any) => any;
/** @param methods by operationId. @returns the resources of the top level. */
export declare function resourcesOf(table: Record<string, OperationRow>, methods: Record<string, Method>): Record<string, any>;
export {};
