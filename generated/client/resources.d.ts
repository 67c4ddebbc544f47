// The runtime of the client (5031a1de4580db44), compiled from packages/client/ of the toolkit. Do not edit.
import type { OperationRow } from './operation-row.js';
type Method = (input?: any) => any;
/** @param methods by operationId. @returns the resources of the top level. */
export declare function resourcesOf(table: Record<string, OperationRow>, methods: Record<string, Method>): Record<string, any>;
export {};
