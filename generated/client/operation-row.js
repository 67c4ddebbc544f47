// The runtime of the client (ee611816ba5d114f), compiled from packages/client/ of the toolkit. Do not edit.
export {};
