// The runtime of the client (a2449e85fe99560a), compiled from packages/client/ of the toolkit. Do not edit.
export {};
